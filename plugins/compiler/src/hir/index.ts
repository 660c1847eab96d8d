// Exports of this folder for tests. Sources import the files directly.
export { ByteOffsets } from './byte-offsets.ts'
export { CodeLowering, codeOfModule } from './code.ts'
export { lowerComponent } from './components.ts'
export { lowerModule } from './module.ts'
