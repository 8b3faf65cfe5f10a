// The error of the library. `types.d.ts` documents it.

export class CondyleError extends Error {
    constructor(code, message, facts = {}) {
        super(message);
        this.name = 'CondyleError';
        this.code = code;
        this.problems = problemsOf(facts);
        this.path = this.problems[0]?.place ?? '';
        this.names = facts.names ?? [];
    }
}

export function problemsOf({ problems = [], counts = [] }) {
    return problems.map(([severity, place, what, action], at) => ({ severity, place, count: counts[at], what, action }));
}
