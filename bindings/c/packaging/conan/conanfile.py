"""Recipe for Conan 2, which builds condyle from the checkout that contains it.

`conan create bindings/c/packaging/conan` needs cargo on the path. With `-o condyle/*:shared=True` it
packages the dynamic library, with `-o condyle/*:runtime_only=True` the runtime alone.
"""

import re
from pathlib import Path

from conan import ConanFile
from conan.errors import ConanInvalidConfiguration
from conan.tools.build import cross_building
from conan.tools.cmake import CMake, CMakeToolchain, cmake_layout
from conan.tools.files import copy, rmdir

CHECKOUT = "../../../.."


class Condyle(ConanFile):
    name = "condyle"
    description = "Skeletal animation: samples, blends, solves and skins characters"
    license = "MIT OR Apache-2.0"
    url = "https://github.com/condyle/condyle"
    topics = ("animation", "skinning", "inverse-kinematics", "gltf")
    package_type = "library"
    settings = "os", "arch", "compiler", "build_type"
    options = {"shared": [True, False], "runtime_only": [True, False]}
    default_options = {"shared": False, "runtime_only": False}

    def set_version(self):
        manifest = Path(self.recipe_folder, CHECKOUT, "Cargo.toml").read_text(encoding="utf-8")
        self.version = re.search(r'^version = "(.+)"', manifest, re.MULTILINE).group(1)

    def export_sources(self):
        checkout = Path(self.recipe_folder, CHECKOUT)
        for pattern in ("Cargo.toml", "LICENSE-*", "runtime/*", "tools/*"):
            copy(self, pattern, checkout, self.export_sources_folder)
        copy(self, "*", checkout / "bindings/c", Path(self.export_sources_folder, "bindings/c"),
             excludes=("target/*", "packaging/*"))

    def configure(self):
        # The interface is C; `condyle.hpp` has inline code only.
        self.settings.rm_safe("compiler.cppstd")
        self.settings.rm_safe("compiler.libcxx")

    def validate(self):
        if cross_building(self):
            raise ConanInvalidConfiguration("the recipe builds for the machine that it runs on")

    def layout(self):
        cmake_layout(self)

    def generate(self):
        toolchain = CMakeToolchain(self)
        toolchain.cache_variables["CONDYLE_LINKAGE"] = "shared" if self.options.shared else "static"
        toolchain.cache_variables["CONDYLE_RUNTIME_ONLY"] = bool(self.options.runtime_only)
        profile = "dev" if self.settings.build_type == "Debug" else "release"
        toolchain.cache_variables["CONDYLE_PROFILE"] = profile
        toolchain.generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure(build_script_folder="bindings/c")
        cmake.build()

    def package(self):
        CMake(self).install()
        copy(self, "LICENSE-*", self.source_folder, Path(self.package_folder, "licenses"))
        # Conan writes separate packages for CMake and pkg-config.
        rmdir(self, str(Path(self.package_folder, "lib", "cmake")))
        rmdir(self, str(Path(self.package_folder, "lib", "pkgconfig")))

    def package_info(self):
        self.cpp_info.libs = ["condyle"]
        if self.options.shared:
            self.cpp_info.defines = ["CONDYLE_SHARED"]
            if self.settings.os == "Windows":
                self.cpp_info.libs = ["condyle.dll"]
        elif self.settings.os == "Windows":
            self.cpp_info.system_libs = ["ws2_32", "userenv", "ntdll", "bcrypt", "advapi32"]
        elif self.settings.os != "Macos":
            self.cpp_info.system_libs = ["m", "pthread", "dl"]
