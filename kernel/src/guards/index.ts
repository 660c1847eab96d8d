// The face of this folder for tests. Sources import the files.
export { claim, framesOf, ownerOf, ownerOfFile } from './attribution.ts'
