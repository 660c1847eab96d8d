// Exports of this folder for tests. Sources import the files directly.
export { claim, framesOf, ownerOf, ownerOfFile } from './attribution.ts'
