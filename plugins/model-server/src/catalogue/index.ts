// Exports of this folder for tests. Sources import the files directly.
export { Catalogue } from './catalogue.ts'
export { checkModelName } from './model-name.ts'
