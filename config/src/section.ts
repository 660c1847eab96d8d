import type { ConfigProblem, JsonSchema } from '@svc/plugin-sdk'
import { aliasesOf, aliasPaths } from './aliases.ts'
import type { Path } from './layers.ts'
import { problem } from './problem.ts'
import { type Declared, declaredSettings, propertiesOf } from './schema.ts'
import { keyText } from './toml.ts'

/** One settings schema and the tables that hold its values. */
export interface Section {
  /** Unique name. */
  readonly name: string
  /** The owner in reports and in short keys (`OWNER.key`); default: the name. */
  readonly owner?: string
  /** How messages name the owner, such as `plugin notes`; default: the owner. */
  readonly label?: string
  /** Tables, lowest precedence first. The last one is documented. */
  readonly tables: readonly Path[]
  /** Those of the tables that lie in a table of another section, which does not report them as unknown. */
  readonly nested?: readonly Path[]
  readonly schema: JsonSchema
  /** True if a key of a table belongs to this section; default: always. For sections that share a table. */
  accepts?(key: string, table: Path): boolean
  /**
   * True if references to a secrets backend are rejected, because it starts after this section is read. Default: never.
   */
  refusesSecretOf?(backend: string): boolean
  /** `when-mentioned` lists only settings that a layer sets; default: `always`. */
  readonly listed?: 'always' | 'when-mentioned'
}

/** A section after its tables, keys and variables were checked against those of other sections. */
export interface DeclaredSection extends Section {
  readonly owner: string
  readonly label: string
  /** The documented table. */
  readonly prefix: Path
  /** Settings of the schema, without variables that an earlier setting declares. */
  readonly declared: readonly Declared[]
  /** Keys that other sections declare in the same table; used for suggestions. */
  readonly neighbours: readonly string[]
  /** Declarations of this section that conflict with another section. */
  readonly conflicts: readonly ConfigProblem[]
}

export interface Registry {
  readonly sections: readonly DeclaredSection[]
  /** Maps each variable to the key that it sets. */
  readonly variables: ReadonlyMap<string, string>
}

/**
 * Assigns tables, keys and variables to sections. The first claim wins; a later claim is a conflict of that section:
 * `CFG_SECTION_CONFLICT`, `CFG_ENV_CONFLICT`, `CFG_KEY_RESERVED`.
 */
export function declareSections(sections: readonly Section[]): Registry {
  const tops = new Map<string, string>()
  const nested = new Map<string, string>()
  const variables = new Map<string, string>()
  // A top-level table that contains tables of sections cannot itself belong to one section.
  for (const section of sections) {
    for (const table of section.tables) {
      const [top = '', ...rest] = table
      if (rest.length > 0 && !isNested(section, table)) tops.set(top, '')
    }
  }
  const declared = sections.map(section => declare(section, { tops, nested, variables, sections }))
  const nestedTables = declared.flatMap(section =>
    section.tables.filter(table => isNested(section, table)).map(table => ({ section, key: keyText(table) }))
  )
  const byPrefix = new Map<string, DeclaredSection[]>()
  for (const section of declared) {
    const prefix = keyText(section.prefix)
    byPrefix.set(prefix, [...(byPrefix.get(prefix) ?? []), section])
  }
  return {
    sections: declared.map(section => ({
      ...section,
      ...acceptsOf(section, nestedTables),
      neighbours: neighboursOf(section, byPrefix.get(keyText(section.prefix)) ?? [])
    })),
    variables
  }
}

/** Returns whether a table of a section lies in a table of another one. */
export function isNested({ nested = [] }: Section, table: Path): boolean {
  return nested.some(each => keyText(each) === keyText(table))
}

/** A table of a section that lies in a table of another one. */
interface NestedTable {
  readonly section: DeclaredSection
  readonly key: string
}

/** Returns `accepts` of a section that leaves nested tables of other sections to them. */
function acceptsOf(section: DeclaredSection, nested: readonly NestedTable[]): Pick<Section, 'accepts'> {
  const outer = section.tables.map(table => `${keyText(table)}.`)
  const inner = new Set(
    nested.flatMap(({ section: other, key }) =>
      other !== section && outer.some(each => key.startsWith(each)) ? [key] : []
    )
  )
  if (inner.size === 0) return {}
  return {
    accepts: (key, table) => !inner.has(keyText([...table, key])) && section.accepts?.(key, table) !== false
  }
}

interface Claims {
  /** Labels of the owners of top-level tables; empty for tables that hold tables of sections. */
  readonly tops: Map<string, string>
  /** Labels of the owners of nested tables, by their keys. */
  readonly nested: Map<string, string>
  readonly variables: Map<string, string>
  readonly sections: readonly Section[]
}

function declare(section: Section, { tops, nested, variables, sections }: Claims): DeclaredSection {
  const { owner = section.name, label = owner } = section
  const conflicts: ConfigProblem[] = []
  const conflict = (key: string, why: string): false => {
    conflicts.push(
      problem('error', 'CFG_SECTION_CONFLICT', `${label} declares the table [${key}], ${why}`, undefined, key)
    )
    return false
  }
  const tables = section.tables.filter(table => {
    const [top = ''] = table
    if (isNested(section, table)) {
      const other = nested.get(keyText(table)) ?? settingAtTable(sections, section, table)
      return other === undefined || conflict(keyText(table), `which belongs to ${other}`)
    }
    const other = table.length === 1 ? tops.get(top) : undefined
    if (other === undefined) return true
    return conflict(top, other === '' ? 'which holds tables of other sections' : `which belongs to ${other}`)
  })
  const prefix = tables.at(-1) ?? []
  for (const table of tables) {
    if (table.length === 1) tops.set(table[0] ?? '', label)
    if (isNested(section, table)) nested.set(keyText(table), label)
  }
  for (const key of Object.keys(propertiesOf(section.schema))) {
    if (section.accepts?.(key, prefix) !== false) continue
    const message = `${label} declares the setting "${key}", which is reserved in [${keyText(prefix)}]`
    const hint = 'rename the setting, or give the schema an x-section'
    conflicts.push(problem('error', 'CFG_KEY_RESERVED', message, undefined, keyText([...prefix, key]), hint))
  }
  const settings = declaredSettings(section.schema)
  const names = new Set(settings.map(({ path }) => keyText(path)))
  const declared = settings.map(setting => {
    const key = keyText([...prefix, ...setting.path])
    for (const alias of aliasPaths(setting).map(keyText)) {
      if (names.has(alias)) {
        const message = `${label} declares "${alias}" as another name of ${key}, but another setting has this name`
        conflicts.push(problem('error', 'CFG_KEY_RESERVED', message, undefined, key, 'remove the name from x-aliases'))
      }
      names.add(alias)
    }
    const free = setting.env.filter(variable => {
      const other = variables.get(variable)
      if (other === undefined) variables.set(variable, key)
      else {
        const message = `${variable} is declared for ${other} and again for ${key} by ${label}`
        conflicts.push(
          problem(
            'error',
            'CFG_ENV_CONFLICT',
            message,
            undefined,
            key,
            'a variable can set only one setting; rename it in one of the two schemas'
          )
        )
      }
      return other === undefined
    })
    return { ...setting, env: free }
  })
  return { ...section, owner, label, tables, prefix, declared, conflicts, neighbours: [] }
}

/** Returns the label of another section that declares a setting where a nested table is, under any of its names. */
function settingAtTable(sections: readonly Section[], own: Section, table: Path): string | undefined {
  const [outer, key = ''] = [keyText(table.slice(0, -1)), table.at(-1)]
  const found = sections.find(
    other =>
      other !== own &&
      other.tables.some(each => keyText(each) === outer) &&
      Object.entries(propertiesOf(other.schema)).some(
        ([name, schema]) => name === key || aliasesOf(schema).includes(key)
      )
  )
  return found === undefined ? undefined : (found.label ?? found.owner ?? found.name)
}

function neighboursOf(section: DeclaredSection, sameTable: readonly DeclaredSection[]): readonly string[] {
  return sameTable.filter(other => other !== section).flatMap(other => Object.keys(propertiesOf(other.schema)))
}
