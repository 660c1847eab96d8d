// Exports of this folder for tests. Sources import the files directly.
export { irDocument, printIr } from './document.ts'
