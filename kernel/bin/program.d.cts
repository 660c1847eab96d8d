type Program = typeof import('../dist/cli/main.js', { with: { 'resolution-mode': 'import' } })

/** Exit codes by name. */
export declare const EXIT: Program['EXIT']

/** Runs a command line; resolves to the exit code. */
export declare const main: Program['main']
