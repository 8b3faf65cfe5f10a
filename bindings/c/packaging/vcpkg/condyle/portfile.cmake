# Overlay port, which builds condyle from the checkout that contains it. It needs cargo on the path, which
# builds for the machine that it runs on.
#
#   vcpkg install condyle --overlay-ports=condyle/bindings/c/packaging/vcpkg
get_filename_component(SOURCE_PATH "${CMAKE_CURRENT_LIST_DIR}/../../../../.." ABSOLUTE)

# The library has one profile, and programs of both use it.
set(VCPKG_BUILD_TYPE release)

vcpkg_check_features(OUT_FEATURE_OPTIONS FEATURE_OPTIONS INVERTED_FEATURES full CONDYLE_RUNTIME_ONLY)
if(VCPKG_LIBRARY_LINKAGE STREQUAL "dynamic")
  set(CONDYLE_LINKAGE shared)
else()
  set(CONDYLE_LINKAGE static)
endif()

vcpkg_cmake_configure(
  SOURCE_PATH "${SOURCE_PATH}/bindings/c"
  OPTIONS ${FEATURE_OPTIONS} "-DCONDYLE_LINKAGE=${CONDYLE_LINKAGE}")
vcpkg_cmake_install()
vcpkg_cmake_config_fixup(PACKAGE_NAME condyle CONFIG_PATH lib/cmake/condyle)
vcpkg_fixup_pkgconfig()
vcpkg_install_copyright(FILE_LIST "${SOURCE_PATH}/LICENSE-APACHE" "${SOURCE_PATH}/LICENSE-MIT")
file(INSTALL "${CMAKE_CURRENT_LIST_DIR}/usage" DESTINATION "${CURRENT_PACKAGES_DIR}/share/${PORT}")
