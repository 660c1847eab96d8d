import { existsSync } from 'node:fs'
import { relative, resolve, sep } from 'node:path'
import type { DatabaseStore, Program } from '@svc/contracts'
import { defined, isSvcError } from '@svc/plugin-sdk'
import { userTables } from '../auth/users/user-tables.ts'
import { runErrors } from '../errors.ts'
import { filesStatements } from '../storage/file-tables.ts'
import { desiredSchema } from './desired-schema.ts'
import { levelOf, type Renames, type SchemaPlan } from './plan.ts'
import { type PlanOptions, planSchema } from './plan-schema.ts'
import { createdStatements } from './plan-table.ts'
import { planText } from './plan-text.ts'
import { changesStatements } from './triggers.ts'

/** One hour, because large tables take time. */
const TRANSACTION_TIMEOUT_MS = 3_600_000

export interface SchemaOptions {
  readonly projectRoot: string
  /** Allows loss of data. A durable database is copied first. */
  readonly force?: boolean
  readonly renames?: Renames
  /** Returns the path of the copy; called only if a copy is made. */
  readonly copyTo?: () => Promise<string>
}

export interface SchemaOutcome {
  readonly plan: SchemaPlan
  /** Path of the copy made before a loss of data; null if none was made. */
  readonly copy: string | null
  /** Warnings about unsupported parts. */
  readonly notes: readonly string[]
}

/** Returns the steps that a migration would make, without making them. */
export async function compareSchema(
  store: DatabaseStore,
  program: Program,
  options: SchemaOptions
): Promise<SchemaPlan> {
  const desired = desiredSchema(program, await store.capabilities())
  return planSchema(store, desired, planOptions(program, options))
}

/**
 * Migrates the database to the declared tables of the program, in one transaction. Call it last before the program
 * is served, because an older version that still runs gets the new tables, too. Throws `RUN_SCHEMA_LOSSY` for a loss
 * without force, `RUN_SCHEMA_REFUSED` for an impossible change, and the errors of the store.
 */
export async function migrateSchema(
  store: DatabaseStore,
  program: Program,
  options: SchemaOptions
): Promise<SchemaOutcome> {
  const capabilities = await store.capabilities()
  const desired = desiredSchema(program, capabilities)
  const planning = planOptions(program, options)
  const first = await planSchema(store, desired, planning)
  const notes = capabilities.durable ? first.notes : [...first.notes, ...transientNotes(store, program)]
  assertAllowed(store, first, planning.force)
  if (first.statements.length === 0) return { plan: first, copy: null, notes }
  const copy =
    levelOf(first) === 'lossy' && capabilities.durable ? await copyOf(store, options, capabilities.backup) : null
  const plan = await store.transaction(
    async tx => {
      // Planned again under the write lock, because the database may have changed.
      const now = await planSchema(tx, desired, planning)
      assertAllowed(store, now, planning.force && (copy !== null || !capabilities.durable))
      for (const statement of now.statements) {
        const { sql, parameters } = typeof statement === 'string' ? { sql: statement, parameters: [] } : statement
        await tx.execute(sql, parameters).catch(error => {
          throw explainReference(error, store, now)
        })
      }
      return now
    },
    { timeoutMs: TRANSACTION_TIMEOUT_MS }
  )
  return { plan, copy, notes }
}

/**
 * Returns the statements that create a program's tables in an empty database, such as that of a test.
 * Throws `RUN_SCHEMA_REFUSED`.
 */
export function freshSchema(
  program: Program,
  capabilities: { readonly fts: boolean; readonly vector: boolean }
): string[] {
  const { tables, isLive, hasUsers, hasFiles, problems } = desiredSchema(program, capabilities)
  if (problems.length > 0) throw runErrors.create('RUN_SCHEMA_REFUSED', `${program.path}: ${problems.join('; ')}`)
  return [
    ...(isLive ? changesStatements : []),
    ...(hasUsers ? userTables : []),
    ...(hasFiles ? filesStatements : []),
    ...tables.flatMap(createdStatements)
  ]
}

function planOptions(
  { path }: Program,
  { projectRoot, force = false, renames }: SchemaOptions
): PlanOptions & { readonly force: boolean } {
  return {
    // `path` is relative to the current folder.
    program: relative(projectRoot, resolve(path)).split(sep).join('/'),
    force,
    ...defined({ renames }),
    isProgram: other => existsSync(resolve(projectRoot, other))
  }
}

function transientNotes({ location }: DatabaseStore, { module }: Program): string[] {
  if (module.tables.length === 0) return []
  return [`${location}: this database is in memory; all rows are lost when the process ends`]
}

function assertAllowed({ location }: DatabaseStore, plan: SchemaPlan, force: boolean): void {
  const level = levelOf(plan)
  if (level === 'refused')
    throw runErrors.create(
      'RUN_SCHEMA_REFUSED',
      `${location} cannot have the tables of ${plan.program}:\n${planText(plan)}`,
      {
        hint: 'nothing was changed; follow the advice on each line',
        data: { steps: plan.steps }
      }
    )
  if (level === 'lossy' && !force)
    throw runErrors.create(
      'RUN_SCHEMA_LOSSY',
      `${location} would lose data if migrated to ${plan.program}:\n${planText(plan)}`,
      {
        hint: `nothing was changed; svc db migrate ${plan.program} --force copies the database and then migrates it`,
        data: { steps: plan.steps }
      }
    )
}

/** Explains the error of SQLite about a view or trigger that refers to a rebuilt table. Returns others unchanged. */
function explainReference(error: unknown, { location }: DatabaseStore, { program }: SchemaPlan): unknown {
  const [, kind, name] = (isSvcError(error) && /error in (view|trigger) (\S+?):? /.exec(error.message)) || []
  if (kind === undefined || name === undefined) return error
  const message = `${location} cannot have the tables of ${program}: the ${kind} ${name} refers to a table that must be rebuilt`
  return runErrors.create('RUN_SCHEMA_REFUSED', message, {
    cause: error,
    hint: `nothing was changed; drop the ${kind} ${name}, and create it again afterwards`
  })
}

async function copyOf(store: DatabaseStore, { copyTo }: SchemaOptions, canCopy: boolean): Promise<string | null> {
  if (!canCopy || copyTo === undefined)
    throw runErrors.create('RUN_SCHEMA_REFUSED', `${store.location} would lose data, and cannot be copied from here`, {
      hint: 'copy and migrate the database on its server'
    })
  const file = await copyTo()
  await store.backup(file)
  return file
}
