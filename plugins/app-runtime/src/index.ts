// Exports of this folder for tests. Sources import the files directly.
export { grantedCapabilities as grantedTo } from './capabilities.ts'
export { appErrors, runErrors } from './errors.ts'
export { evaluateHandler, evaluateOperation } from './operations.ts'
export { type Runner, runProgram } from './run-command.ts'
export { runTestFiles } from './test-command.ts'
