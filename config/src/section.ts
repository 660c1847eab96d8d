import type { ConfigProblem, JsonSchema } from '@svc/plugin-sdk'
import type { Path } from './layers.ts'
import { problem } from './problem.ts'
import { type Declared, declaredSettings, propertiesOf } from './schema.ts'
import { keyText } from './toml.ts'

/** One schema, and the tables that hold its values. */
export interface Section {
  /** Unique. */
  readonly name: string
  /** The owner in reports and in short keys (`OWNER.key`); default: the name. */
  readonly owner?: string
  /** The owner in messages, such as `plugin notes`; default: the owner. */
  readonly label?: string
  /** Lowest first. The last one is the documented one. */
  readonly tables: readonly Path[]
  readonly schema: JsonSchema
  /** Whether a key of a table belongs to this section; default: every key. For sections that share a table. */
  accepts?(key: string, table: Path): boolean
  /** Whether references to a secrets backend are refused, because no backend can answer yet. Default: none is. */
  refusesSecretOf?(backend: string): boolean
  /** Whether settings that no layer mentions are listed; default: `always`. */
  readonly listed?: 'always' | 'when-mentioned'
}

/** A section whose conflicts with other sections are known. */
export interface DeclaredSection extends Section {
  readonly owner: string
  readonly label: string
  /** The documented table. */
  readonly prefix: Path
  /** Without variables that another section declared first. */
  readonly declared: readonly Declared[]
  /** Keys that other sections declare in the same table, for suggestions. */
  readonly neighbours: readonly string[]
  /** Declarations of this section that belong to another section. */
  readonly conflicts: readonly ConfigProblem[]
}

export interface Registry {
  readonly sections: readonly DeclaredSection[]
  /** Variable to the key that it sets. */
  readonly variables: ReadonlyMap<string, string>
}

/**
 * Assigns tables, keys and variables to sections. The first claim wins; a later claim is a conflict of that section:
 * `CFG_SECTION_CONFLICT`, `CFG_ENV_CONFLICT`, `CFG_KEY_RESERVED`.
 */
export function declareSections(sections: readonly Section[]): Registry {
  const tops = new Map<string, string>()
  const variables = new Map<string, string>()
  // A table with tables of sections inside cannot be a section's own.
  for (const { tables } of sections) for (const [top, ...rest] of tables) if (rest.length > 0) tops.set(top ?? '', '')
  const declared = sections.map(section => declare(section, tops, variables))
  return { sections: declared.map(section => ({ ...section, neighbours: neighboursOf(section, declared) })), variables }
}

function declare(section: Section, tops: Map<string, string>, variables: Map<string, string>): DeclaredSection {
  const { owner = section.name, label = owner } = section
  const conflicts: ConfigProblem[] = []
  const tables = section.tables.filter(table => {
    const [top = ''] = table
    const other = table.length === 1 ? tops.get(top) : undefined
    if (other === undefined) return true
    const why = other === '' ? 'which holds tables of other sections' : `which belongs to ${other}`
    const message = `${label} declares the table [${top}], ${why}`
    conflicts.push(problem('error', 'CFG_SECTION_CONFLICT', message, undefined, top))
    return false
  })
  const prefix = tables.at(-1) ?? []
  if (prefix.length === 1) tops.set(prefix[0] ?? '', label)
  for (const key of Object.keys(propertiesOf(section.schema))) {
    if (section.accepts?.(key, prefix) !== false) continue
    const message = `${label} declares the setting "${key}", which is reserved in [${keyText(prefix)}]`
    const hint = 'rename the setting, or give the schema an x-section'
    conflicts.push(problem('error', 'CFG_KEY_RESERVED', message, undefined, keyText([...prefix, key]), hint))
  }
  const declared = declaredSettings(section.schema).map(setting => {
    const key = keyText([...prefix, ...setting.path])
    const free = setting.env.filter(variable => {
      const other = variables.get(variable)
      if (other === undefined) variables.set(variable, key)
      else {
        const message = `${variable} is declared for ${other} and again for ${key} by ${label}`
        conflicts.push(problem('error', 'CFG_ENV_CONFLICT', message, undefined, key, 'one variable sets one setting'))
      }
      return other === undefined
    })
    return { ...setting, env: free }
  })
  return { ...section, owner, label, tables, prefix, declared, conflicts, neighbours: [] }
}

function neighboursOf(section: DeclaredSection, all: readonly DeclaredSection[]): readonly string[] {
  const table = keyText(section.prefix)
  return all
    .filter(other => other !== section && keyText(other.prefix) === table)
    .flatMap(other => Object.keys(propertiesOf(other.schema)))
}
