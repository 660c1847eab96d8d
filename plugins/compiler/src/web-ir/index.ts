// Exports of this folder for tests. Sources import the files directly.
export { webIrDocument } from './document.ts'
export { validateWebIr } from './validate.ts'
export type { WebIr } from './web-ir.ts'
