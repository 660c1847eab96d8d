// Exports for the tests of other plugins.
export { compilation, descriptionOf } from './compilation.ts'
export { checkFile, hasErrors } from './compile.ts'
export { programOf } from './program.ts'
export { SourceFile } from './source-file.ts'
export { readSources } from './source-files.ts'
