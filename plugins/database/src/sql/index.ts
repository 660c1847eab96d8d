// The face of this folder for tests. Sources import the files.
export { admit, splitScript } from './admit.ts'
export { placeIn, scan } from './scan.ts'
