// Exports for tests. Sources import the files directly.
export { parseStatus } from './git-status.ts'
export { syntaxProblems } from './syntax-problems.ts'
export { checkSyntax } from './syntax-thread.ts'
