// Exports of this package for its tests.
export { Grammars } from './engine/grammars.ts'
export { sourceLanguage } from './engine/language.ts'
export { type FileScan, type ScanOptions, scanFile } from './engine/scan-file.ts'
export { languageOf } from './lex/languages.ts'
export { lex } from './lex/lex.ts'
export { TEXT_RULES } from './rules/text-engine.ts'
