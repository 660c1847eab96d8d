import { type ConfigProblem, parseSecretReference, type SettingExplanation, type SettingReport } from '@svc/plugin-sdk'
import { aliasPaths } from './aliases.ts'
import { configErrors } from './errors.ts'
import { isTable, lookup, mentions, UNSET } from './layers.ts'
import { didYouMean } from './problem.ts'
import type { ResolvedSection } from './resolve-section.ts'
import { type Declared, MASK } from './schema.ts'
import { keyText } from './toml.ts'

/**
 * Lists declared settings with value and origin. Sections listed `when-mentioned` show only settings that a layer sets.
 */
export function listSettings(sections: readonly ResolvedSection[], prefix = ''): readonly SettingReport[] {
  return sections.flatMap(section =>
    section.declared
      .filter(setting =>
        namesOf(section, setting).some(name => prefix === '' || name === prefix || name.startsWith(`${prefix}.`))
      )
      .filter(setting => section.listed !== 'when-mentioned' || mentions(section.views, setting.path).length > 0)
      .map(setting => report(section, setting))
  )
}

/** Explains one setting. `key` is its documented key, its key in another table of the section, or `OWNER.key`. */
export function explainSetting(sections: readonly ResolvedSection[], key: string): SettingExplanation {
  const all = sections.flatMap(section =>
    section.declared.map(setting => ({ section, setting, names: namesOf(section, setting) }))
  )
  const found = all.find(({ names }) => names[0] === key) ?? all.find(({ names }) => names.includes(key))
  if (found !== undefined) return explain(found.section, found.setting)
  const hint =
    didYouMean(
      key,
      all.flatMap(({ names }) => names)
    ) ?? 'svc config list prints every setting'
  throw configErrors.create('CFG_SETTING_UNKNOWN', `there is no setting "${key}"`, { hint, at: { path: key } })
}

const names = new WeakMap<Declared, readonly string[]>()

/** Returns the keys of a setting, the documented one first. */
function namesOf({ tables, owner }: ResolvedSection, setting: Declared): readonly string[] {
  const known = names.get(setting)
  if (known !== undefined) return known
  const bases = [...[...tables].reverse(), [owner]]
  const paths = [setting.path, ...aliasPaths(setting)]
  const keys = [...new Set(paths.flatMap(path => bases.map(base => keyText([...base, ...path]))))]
  names.set(setting, keys)
  return keys
}

function explain(section: ResolvedSection, setting: Declared): SettingExplanation {
  const mentioned = mentions(section.views, setting.path)
  const overrides: { layer: string; place: string | null; value: unknown }[] = []
  for (const { view, value } of mentioned.slice(0, -1).reverse()) {
    overrides.push({ layer: view.layer, place: view.place(setting.path).text, value: masked(setting, value) })
  }
  const fallback = setting.schema.default
  if (mentioned.length > 0 && fallback !== undefined) {
    overrides.push({ layer: 'default', place: null, value: masked(setting, fallback) })
  }
  return { ...report(section, setting), overrides, schema: { ...setting.schema } }
}

function report(section: ResolvedSection, setting: Declared): SettingReport {
  const mentioned = mentions(section.views, setting.path).at(-1)
  const removed = mentioned?.value === UNSET
  const key = keyText([...section.prefix, ...setting.path])
  const value = masked(setting, lookup(section.settings, setting.path))
  const layer = mentioned === undefined || removed ? 'default' : mentioned.view.layer
  const place = mentioned === undefined ? null : mentioned.view.place(setting.path).text
  const wrong = section.problems.find(problem => isAbout(problem, key))
  return {
    key,
    plugin: section.owner,
    value: wrong === undefined ? value : null,
    layer,
    place,
    env: setting.env,
    reload: setting.reload,
    secret: setting.secret,
    description: typeof setting.schema.description === 'string' ? setting.schema.description : '',
    ...(wrong === undefined ? {} : { refused: { value, layer, place, message: wrong.message } })
  }
}

/** True if a problem makes the value of a setting invalid, or a part of the value. */
function isAbout({ severity, code, key }: ConfigProblem, setting: string): boolean {
  const isInvalid = severity === 'error' && code === 'CFG_VALUE_INVALID'
  return isInvalid && (key === setting || key?.startsWith(`${setting}.`) === true)
}

function masked({ secret }: Declared, value: unknown): unknown {
  if (value === undefined) return null
  // An empty string is no secret, and a mask would suggest one. A reference names a secret but does not contain it.
  const open = !secret || value === '' || value === UNSET || isReference(value)
  return open ? withoutPasswords(value) : MASK
}

/** A URL up to its password; the rest of the authority follows. */
const BEFORE_PASSWORD = /^([a-z][a-z\d+.-]*:\/\/[^\s/?#@:]*:)[^\s/?#]*(?=@)/i

/** Masks passwords in URLs, such as `http://user:password@host`, also in lists and tables. */
function withoutPasswords(value: unknown): unknown {
  if (typeof value === 'string') return value.replace(BEFORE_PASSWORD, `$1${MASK}`)
  if (Array.isArray(value)) return value.map(withoutPasswords)
  if (!isTable(value)) return value
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, withoutPasswords(each)]))
}

/** True if a value consists only of references to secrets. */
function isReference(value: unknown): boolean {
  if (typeof value === 'string') return parseSecretReference(value) !== null
  const inner = Array.isArray(value) ? value : isTable(value) ? Object.values(value) : []
  return inner.length > 0 && inner.every(isReference)
}
