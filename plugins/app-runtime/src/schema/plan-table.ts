import { columnDefinition, comparedValue, createTable, type DesiredTable, fillSearchTable } from './desired-schema.ts'
import { type Duplicates, duplicatesText } from './duplicates.ts'
import type { ExistingSchema, ExistingTable } from './existing-schema.ts'
import { quoted } from './names.ts'
import type { SchemaStep, StepLevel } from './plan.ts'
import { type ColumnsPlan, planColumns, rebuildStatements } from './plan-columns.ts'

export interface TablePlan {
  readonly steps: readonly SchemaStep[]
  readonly statements: readonly string[]
}

export interface TableQuestion {
  readonly desired: DesiredTable
  readonly existing: ExistingSchema
  /** Record of the table by the program, else by another one; null if there is none. */
  readonly recorded: DesiredTable | null
  /** Records of the table by other programs. */
  readonly others: readonly { readonly program: string; readonly definition: DesiredTable }[]
  /** Records of the table by programs whose files no longer exist. */
  readonly abandoned: readonly DesiredTable[]
  /** Former name of the table in the database; null if not renamed. */
  readonly formerName: string | null
  /** New column names by old ones in lower case. */
  readonly renames: ReadonlyMap<string, string>
  /** Number of a table's rows that satisfy a condition. */
  readonly count: (table: string, condition: string) => Promise<number>
  /** Rows of a table with equal values of some SQL expressions. */
  readonly duplicates: (table: string, expressions: readonly string[]) => Promise<Duplicates>
  /** Names of tables with a foreign key to a table. */
  readonly referrers: (table: string) => Promise<readonly string[]>
}

/** Plans the changes to one table. */
export async function planTable(question: TableQuestion): Promise<TablePlan> {
  const { desired, existing, formerName } = question
  const table = existing.tables.get(formerName ?? desired.name)
  const refusal = refusalOf(question, table)
  if (refusal !== null) return { steps: [refusal], statements: [] }
  if (table === undefined) return createdTable(desired)
  return new TableChange(question, table).plan()
}

/** Returns the statements that create a table. */
export function createdStatements({ name, columns, objects, search }: DesiredTable): string[] {
  return [createTable(name, columns), ...(search === null ? [] : [search.sql]), ...objects.map(({ sql }) => sql)]
}

function createdTable(desired: DesiredTable): TablePlan {
  const { declared, columns } = desired
  const step = stepOf(
    desired,
    'safe',
    `is new, with the columns ${columns.map(({ name }) => name).join(', ') || '_id'}`
  )
  return { steps: [{ ...step, table: declared }], statements: createdStatements(desired) }
}

/** Returns the reason why the table cannot be migrated; null if it can. */
function refusalOf(
  { desired, existing, recorded, formerName }: TableQuestion,
  table: ExistingTable | undefined
): SchemaStep | null {
  const { name, declared, columns, objects, search } = desired
  const refused = (says: string): SchemaStep => stepOf(desired, 'refused', says, `choose another name for ${declared}`)
  if (formerName !== null && table === undefined)
    return refused(`cannot be renamed from ${formerName}: there is no such table`)
  if (formerName !== null && existing.names.has(name))
    return refused(`cannot be renamed from ${formerName}: both tables exist`)
  if (formerName !== null && recorded === null) return refused(`cannot replace ${formerName}, which no program created`)
  if (table === undefined && existing.names.has(name))
    return refused(`needs the name ${name}, which another object in the database has`)
  const own = new Set([...(table?.objects.keys() ?? []), ...(recorded === null ? [] : namesOf(recorded))])
  const conflict = [...objects.map(object => object.name), ...(search === null ? [] : [search.name])].find(
    each => existing.names.has(each.toLowerCase()) && !own.has(each) && existing.virtual.get(each) !== search?.sql
  )
  if (conflict !== undefined) return refused(`needs the name ${conflict}, which another object in the database has`)
  if (table === undefined || (recorded !== null && table.isKeyed)) return null
  const fits =
    table.isKeyed &&
    table.columns.length === columns.length &&
    columns.every(column =>
      table.columns.some(
        each =>
          each.name === column.name &&
          each.type.toUpperCase() === column.sql &&
          each.nullable === column.nullable &&
          each.default === column.default
      )
    )
  return fits
    ? null
    : refused(`would be the table ${name}, which exists in the database and was not created by a program`)
}

function namesOf({ objects, search }: DesiredTable): string[] {
  return [...objects.map(({ name }) => name), ...(search === null ? [] : [search.name])]
}

function stepOf({ declared }: DesiredTable, level: StepLevel, says: string, wayOut: string | null = null): SchemaStep {
  return { level, table: declared, column: null, says, wayOut }
}

class TableChange {
  readonly #question: TableQuestion
  readonly #table: ExistingTable
  readonly #steps: SchemaStep[] = []

  constructor(question: TableQuestion, table: ExistingTable) {
    this.#question = question
    this.#table = table
  }

  async plan(): Promise<TablePlan> {
    const { desired, existing, recorded, formerName, renames, count } = this.#question
    const table = this.#table
    const counts = new Map<string, number>()
    const columns = await planColumns({
      desired,
      existing: table,
      recorded,
      renames,
      count: async condition => {
        const known = counts.get(condition)
        const found = known ?? (await count(table.name, condition))
        counts.set(condition, found)
        return found
      }
    })
    if (formerName !== null) this.#steps.push(stepOf(desired, 'safe', `is renamed from ${table.name}`))
    this.#steps.push(...columns.steps)
    const isRebuilt = columns.rebuild || formerName !== null
    if (isRebuilt) await this.#refuseReferred()
    await this.#refuseDuplicates(columns, isRebuilt)
    const before = this.#dropped(isRebuilt)
    const search = this.#search(existing.virtual, isRebuilt)
    const after = this.#created(isRebuilt)
    const statements = [...search.before, ...before, ...this.#changed(columns), ...search.after, ...after]
    return { steps: this.#steps, statements }
  }

  /** Refuses to rebuild a table that foreign keys refer to: SQLite would delete or orphan the referring rows. */
  async #refuseReferred(): Promise<void> {
    const { desired, referrers } = this.#question
    const keys = await referrers(this.#table.name)
    if (keys.length === 0) return
    const says = `cannot be rebuilt, since foreign keys of ${keys.join(', ')} refer to it`
    this.#steps.push(stepOf(desired, 'refused', says, 'drop these foreign keys first'))
  }

  /** Refuses a unique index if rows would have equal values. */
  async #refuseDuplicates({ values }: ColumnsPlan, isRebuilt: boolean): Promise<void> {
    const { desired, duplicates } = this.#question
    for (const { name, sql, unique } of desired.objects) {
      if (unique === undefined || (!isRebuilt && this.#table.objects.get(name)?.sql === sql)) continue
      const stored = (column: string): string => {
        if (column === '_id') return quoted(column)
        const standard = desired.columns.find(each => each.name === column)?.default
        return comparedValue(column, desired.columns, values.get(column) ?? standard ?? 'NULL')
      }
      const found = await duplicates(this.#table.name, unique.map(stored))
      if (found.count === 0) continue
      const says = `cannot have unique ${unique.join(' and ')}: ${duplicatesText(found)}`
      const wayOut = 'nothing was changed; change or delete all but one row of each value, then migrate again'
      this.#steps.push(stepOf(desired, 'refused', says, wayOut))
    }
  }

  #changed(columns: ColumnsPlan): string[] {
    const { desired, formerName } = this.#question
    const { name } = desired
    const rename = formerName === null ? [] : [`ALTER TABLE ${quoted(this.#table.name)} RENAME TO ${quoted(name)}`]
    if (columns.rebuild) {
      const create = (next: string): string => createTable(next, desired.columns)
      return [...rename, ...rebuildStatements(name, create, desired.columns, columns.values)]
    }
    return [
      ...rename,
      ...columns.additions.map(column => `ALTER TABLE ${quoted(name)} ADD COLUMN ${columnDefinition(column)}`)
    ]
  }

  /** Names of objects created by programs. Others are never dropped. */
  get #ownedNames(): Set<string> {
    const { recorded, others, abandoned } = this.#question
    const created = [
      ...(recorded === null ? [] : [recorded]),
      ...others.map(({ definition }) => definition),
      ...abandoned
    ]
    return new Set(created.flatMap(namesOf))
  }

  /** Names of objects that other programs declare, which are kept. */
  get #needed(): Set<string> {
    return new Set(this.#question.others.flatMap(({ definition }) => namesOf(definition)))
  }

  #dropped(isRebuilt: boolean): string[] {
    const { desired } = this.#question
    const [owned, needed] = [this.#ownedNames, this.#needed]
    const wanted = new Map(desired.objects.map(({ name, sql }) => [name, sql]))
    return [...this.#table.objects].flatMap(([name, { type, sql }]) => {
      const isLost = !wanted.has(name) && owned.has(name) && !needed.has(name)
      if (isLost && type === 'index') this.#steps.push(stepOf(desired, 'safe', `loses its index ${name}`))
      const isChanged = wanted.has(name) && wanted.get(name) !== sql
      return isRebuilt || isLost || isChanged ? [`DROP ${type.toUpperCase()} ${quoted(name)}`] : []
    })
  }

  #created(isRebuilt: boolean): string[] {
    const { desired } = this.#question
    const [owned, needed] = [this.#ownedNames, this.#needed]
    const { objects } = this.#table
    const wanted = new Set(desired.objects.map(({ name }) => name))
    const created = desired.objects.filter(({ name, sql }) => isRebuilt || objects.get(name)?.sql !== sql)
    for (const { type, name, sql, unique } of created) {
      const known = objects.get(name)
      if (type !== 'index' || known?.sql === sql) continue
      const what = `${unique === undefined ? '' : 'unique '}index ${name}`
      this.#steps.push(stepOf(desired, 'safe', known === undefined ? `gets the ${what}` : `gets another ${what}`))
    }
    const isLive = (names: readonly { readonly name: string }[]): boolean =>
      names.some(({ name }) => name.endsWith('_live_insert'))
    const wasLive = objects.has(`${this.#table.name}_live_insert`)
    if (isLive(created) && !wasLive) this.#steps.push(stepOf(desired, 'safe', 'gets change announcements'))
    // A rebuilt table has lost its objects, so those that the program did not create are created again.
    const others = isRebuilt
      ? [...objects]
          .filter(([name]) => !wanted.has(name) && (!owned.has(name) || needed.has(name)))
          .map(([, { sql }]) => sql)
      : []
    return [...created.map(({ sql }) => sql), ...others]
  }

  /** Plans the full-text table, which is filled again from the table. */
  #search(
    virtual: ReadonlyMap<string, string>,
    isRebuilt: boolean
  ): { readonly before: string[]; readonly after: string[] } {
    const { desired, recorded, others } = this.#question
    const needed = others.find(({ definition }) => definition.search !== null)?.definition.search ?? null
    const former = recorded?.search ?? null
    const wanted = desired.search ?? needed
    const name = wanted?.name ?? former?.name
    if (name === undefined) return { before: [], after: [] }
    const current = former === null ? undefined : virtual.get(former.name)
    const hasCurrent = current !== undefined && former !== null
    if (!isRebuilt && wanted !== null && virtual.get(wanted.name) === wanted.sql) return { before: [], after: [] }
    const before = hasCurrent ? [`DROP TABLE ${quoted(former.name)}`] : []
    if (wanted === null) {
      if (hasCurrent) this.#steps.push(stepOf(desired, 'safe', 'loses its full-text search'))
      return { before, after: [] }
    }
    if (current !== wanted.sql)
      this.#steps.push(stepOf(desired, 'safe', `gets a full-text search of ${wanted.columns.join(', ')}`))
    return { before, after: [wanted.sql, fillSearchTable(wanted.name)] }
  }
}
