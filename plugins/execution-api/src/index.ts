// Exports of this folder for tests. Sources import the files directly.
export { formed } from './output.ts'
export { readRequest } from './request.ts'
