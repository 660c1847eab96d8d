// Exports of this folder for tests. Sources import the files directly.
export { layout } from '../doc/doc.ts'
export { webIrDocument } from './document.ts'
export type { WebComponent, WebMember, WebNode } from './tree.ts'
export { validateWebIr } from './validate.ts'
export type { WebIr } from './web-ir.ts'
