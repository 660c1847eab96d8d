// Exports of this folder for tests. Sources import the files directly.
export { admit, splitScript } from './admit.ts'
export { placeIn, scan } from './scan.ts'
