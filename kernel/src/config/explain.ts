import { parseSecretReference, type SettingExplanation, type SettingReport } from '@svc/contracts'
import { configErrors } from './errors.ts'
import { isTable, lookup, mentions, UNSET } from './layers.ts'
import { didYouMean } from './problem.ts'
import { type Declared, MASK } from './schema.ts'
import type { Settled } from './settle.ts'
import { keyText } from './toml.ts'

/** Every declared setting with its value and where it comes from; of policies those alone that somebody wrote. */
export function listSettings(owners: readonly Settled[], prefix = ''): readonly SettingReport[] {
  return owners.flatMap(owner =>
    owner.declared
      .filter(setting =>
        namesOf(owner, setting).some(name => prefix === '' || name === prefix || name.startsWith(`${prefix}.`))
      )
      .filter(setting => owner.kind !== 'policy' || mentions(owner.views, setting.path).length > 0)
      .map(setting => report(owner, setting))
  )
}

/** One setting, named as documented, as `plugins.NAME.key` or as `NAME.key`. */
export function explainSetting(owners: readonly Settled[], key: string): SettingExplanation {
  const all = owners.flatMap(owner =>
    owner.declared.map(setting => ({ owner, setting, names: namesOf(owner, setting) }))
  )
  const found = all.find(({ names }) => names[0] === key) ?? all.find(({ names }) => names.includes(key))
  if (found !== undefined) return explain(found.owner, found.setting)
  const hint =
    didYouMean(
      key,
      all.flatMap(({ names }) => names)
    ) ?? 'svc config list prints every setting'
  throw configErrors.create('CFG_SETTING_UNKNOWN', `there is no setting "${key}"`, { hint, at: { path: key } })
}

function namesOf({ name, prefix }: Settled, { path }: Declared): readonly string[] {
  return [...new Set([prefix, ['plugins', name], [name]].map(base => keyText([...base, ...path])))]
}

function explain(owner: Settled, setting: Declared): SettingExplanation {
  const said = mentions(owner.views, setting.path)
  const overrides: { layer: string; place: string | null; value: unknown }[] = []
  for (const { view, value } of said.slice(0, -1).reverse()) {
    overrides.push({ layer: view.layer, place: view.place(setting.path).text, value: masked(setting, value) })
  }
  const fallback = setting.schema.default
  if (said.length > 0 && fallback !== undefined) {
    overrides.push({ layer: 'default', place: null, value: masked(setting, fallback) })
  }
  return { ...report(owner, setting), overrides, schema: { ...setting.schema } }
}

function report(owner: Settled, setting: Declared): SettingReport {
  const said = mentions(owner.views, setting.path).at(-1)
  const removed = said?.value === UNSET
  return {
    key: keyText([...owner.prefix, ...setting.path]),
    plugin: owner.name,
    value: masked(setting, lookup(owner.settings, setting.path)),
    layer: said === undefined || removed ? 'default' : said.view.layer,
    place: said === undefined ? null : said.view.place(setting.path).text,
    env: setting.env,
    reload: setting.reload,
    secret: setting.secret,
    description: typeof setting.schema.description === 'string' ? setting.schema.description : ''
  }
}

function masked({ secret }: Declared, value: unknown): unknown {
  if (value === undefined) return null
  // An empty text is no secret, and a mask would claim that there is one. A reference only says where to find one.
  const open = !secret || value === '' || value === UNSET || refers(value)
  return open ? value : MASK
}

/** Whether a value is made of references to secrets alone. */
function refers(value: unknown): boolean {
  if (typeof value === 'string') return parseSecretReference(value) !== null
  const inner = Array.isArray(value) ? value : isTable(value) ? Object.values(value) : []
  return inner.length > 0 && inner.every(refers)
}
