export {
  changedPaths,
  parseAssignment,
  pathOfKey,
  type SettingOfKey,
  type Shadow,
  settingAt,
  shadowOf
} from './changed-keys.ts'
export * from './diff.ts'
export * from './edit.ts'
export { editToml, parseKey, parseKeys } from './edit-toml.ts'
export * from './editor-schema.ts'
export * from './env.ts'
export * from './errors.ts'
export { explainSetting, listSettings } from './explain.ts'
export * from './layers.ts'
export { isLiteral, type LiteralSecret, type MaskedText, maskSecrets } from './literal-secrets.ts'
export * from './lost-guards.ts'
export * from './problem.ts'
export * from './resolve.ts'
export * from './resolve-section.ts'
export * from './schema.ts'
export * from './secrets.ts'
export * from './section.ts'
export {
  type ConfigSources,
  type Dialect,
  emptiedFiles,
  readSources,
  type SourceOptions,
  svcDialect
} from './sources.ts'
export { keyText, parseToml, syntaxProblem, tryToml } from './toml.ts'
export { tomlValue } from './toml-value.ts'
export type { Group } from './unknown-keys.ts'
export { type Checked, check, type Issue } from './validate.ts'
