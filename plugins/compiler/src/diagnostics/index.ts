// Public entry of this folder for tests. Source files import the modules directly.
export { type DiagnosticCode, diagnosticCodes } from './codes.ts'
export { type Diagnostic, diagnostic, sortDiagnostics } from './diagnostic.ts'
export { diagnosticJson } from './json.ts'
export { diagnosticLine, renderDiagnostic } from './render.ts'
export { reservedCodes } from './reserved-codes.ts'
