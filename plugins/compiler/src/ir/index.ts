// The face of this folder for tests. Sources import the files.
export { irDocument, printIr } from './document.ts'
