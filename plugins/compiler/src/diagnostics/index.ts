// Exports of this folder for tests. Sources import the files directly.
export { type DiagnosticCode, diagnosticCodes } from './codes.ts'
export { type Diagnostic, diagnostic, sortDiagnostics } from './diagnostic.ts'
export { diagnosticJson } from './json.ts'
export { diagnosticLine, renderDiagnostic } from './render.ts'
export { reservedCodes } from './reserved-codes.ts'
