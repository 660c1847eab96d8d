import { isDeepStrictEqual } from 'node:util'
import { aliasPaths } from './aliases.ts'
import { parseKey } from './edit-toml.ts'
import { fromText } from './env.ts'
import { configErrors } from './errors.ts'
import { isTable, lookup, type Path, type Table } from './layers.ts'
import { didYouMean } from './problem.ts'
import type { ResolvedSection } from './resolve-section.ts'
import type { Declared } from './schema.ts'
import { keyText, tryToml } from './toml.ts'

/** Returns the paths of the values that differ between two tables. A list is one value. */
export function changedPaths(before: Table, after: Table, base: Path = []): readonly Path[] {
  const keys = new Set([...Object.keys(before), ...Object.keys(after)])
  return [...keys].flatMap(key => {
    const [was, is] = [before, after].map(table => (Object.hasOwn(table, key) ? table[key] : undefined))
    if (isDeepStrictEqual(was, is)) return []
    const path = [...base, key]
    const isNested = (isTable(was) || was === undefined) && (isTable(is) || is === undefined)
    const inner = isNested ? changedPaths((was ?? {}) as Table, (is ?? {}) as Table, path) : []
    return inner.length === 0 ? [path] : inner
  })
}

/** Declared setting that a key of a file belongs to. */
export interface SettingOfKey {
  readonly section: ResolvedSection
  readonly setting: Declared
  /** Path within the section: that of the setting, or of a value inside it. */
  readonly path: Path
}

/** Returns the setting at a path of a file, or undefined if no section declares one. */
export function settingAt(sections: readonly ResolvedSection[], path: Path): SettingOfKey | undefined {
  for (const section of sections) {
    for (const base of section.tables) {
      const rest = path.slice(base.length)
      const isInTable = rest.length > 0 && base.every((key, index) => path[index] === key)
      if (!isInTable || section.accepts?.(rest[0] ?? '', base) === false) continue
      const found = settingNamed(section, rest)
      if (found !== undefined) return found
    }
  }
  return undefined
}

/** Returns the setting at a path of a section, where it may have the name of an alias. */
function settingNamed(section: ResolvedSection, path: Path): SettingOfKey | undefined {
  for (const setting of section.declared) {
    const name = [setting.path, ...aliasPaths(setting)].find(each => each.every((key, index) => path[index] === key))
    if (name !== undefined) return { section, setting, path: [...setting.path, ...path.slice(name.length)] }
  }
  return undefined
}

/**
 * Returns the path in a file for the key of a setting: a documented key, a key of another table of its section, or
 * `OWNER.key`. If the file already sets it in another table or under an alias, that one. A key of no setting is used as it is.
 */
export function pathOfKey(sections: readonly ResolvedSection[], key: string, file: Table): Path {
  const path = parseKey(key)
  const found = settingAt(sections, path) ?? ownersSetting(sections, path)
  if (found === undefined) return path
  const { section, setting } = found
  const rest = found.path.slice(setting.path.length)
  const names = [...aliasPaths(setting), setting.path]
  const paths = names.flatMap(name => section.tables.map(base => [...base, ...name, ...rest]))
  return paths.findLast(each => lookup(file, each) !== undefined) ?? paths.at(-1) ?? path
}

function ownersSetting(sections: readonly ResolvedSection[], [owner, ...rest]: Path): SettingOfKey | undefined {
  for (const section of sections) {
    if (section.owner !== owner || section.accepts?.(rest[0] ?? '', section.prefix) === false) continue
    const found = settingNamed(section, rest)
    if (found !== undefined) return found
  }
  return undefined
}

/**
 * Parses `KEY=VALUE`. VALUE is read as its setting's type, as TOML, or else is a string. Throws `CFG_SET_INVALID`, and
 * `CFG_SETTING_UNKNOWN` if no setting has the key. No message contains the value, which may be a secret.
 */
export function parseAssignment(
  sections: readonly ResolvedSection[],
  text: string,
  file: Table
): { readonly key: string; readonly value: unknown } {
  const split = text.indexOf('=')
  if (split < 1) {
    throw configErrors.create('CFG_SET_INVALID', 'a setting does not have the form KEY=VALUE', {
      hint: 'for example plugins.http.port=8080'
    })
  }
  const path = pathOfKey(sections, text.slice(0, split).trim(), file)
  const found = settingAt(sections, path)
  if (found === undefined) throw unknownSetting(sections, keyText(path))
  const isWhole = found.path.length === found.setting.path.length
  return { key: keyText(path), value: typedValue(text.slice(split + 1).trim(), isWhole ? found.setting.schema : {}) }
}

function typedValue(text: string, schema: Declared['schema']): unknown {
  const toml = /[\r\n]/.test(text) ? undefined : tryToml(`value = ${text}`)
  const parsed = toml !== undefined && Object.keys(toml).length === 1 ? toml.value : undefined
  if (schema.type === 'string') return typeof parsed === 'string' ? parsed : text
  if (parsed !== undefined && (schema.type !== 'array' || Array.isArray(parsed))) return parsed
  return fromText(text, schema) ?? parsed ?? text
}

function unknownSetting(sections: readonly ResolvedSection[], key: string): Error {
  const known = sections.flatMap(({ prefix, declared }) => declared.map(({ path }) => keyText([...prefix, ...path])))
  const hint = didYouMean(key, known) ?? 'svc config list prints every setting'
  return configErrors.create('CFG_SETTING_UNKNOWN', `there is no setting "${key}"`, { hint, at: { path: key } })
}

/** Value of a higher layer that prevents a key of the project file from taking effect. */
export interface Shadow {
  readonly key: string
  readonly layer: string
  readonly place: string
}

/** Returns what overrides a key of the project file, or undefined. `place`: position of the key, if the file has it. */
export function shadowOf(sections: readonly ResolvedSection[], path: Path, place?: string): Shadow | undefined {
  const found = settingAt(sections, path)
  if (found === undefined) return undefined
  const mentioned = found.section.views.filter(({ table }) => lookup(table, found.path) !== undefined)
  const last = mentioned.at(-1)
  if (last === undefined) return undefined
  const at = last.place(found.path).text
  const isHigher = ['profile', 'local', 'environment', 'set'].includes(last.layer)
  // The same setting in two tables of the file: the second table wins.
  const isElsewhere = last.layer === 'project' && place !== undefined && place !== at
  if (!isHigher && !isElsewhere) return undefined
  // A table of a higher layer merges with that of the file, unless the value is not a table.
  if (isTable(lookup(last.table, found.path))) return undefined
  return { key: keyText(path), layer: last.layer, place: at }
}
