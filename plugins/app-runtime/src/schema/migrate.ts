import { existsSync } from 'node:fs'
import { relative, resolve, sep } from 'node:path'
import type { DatabaseStore, Program } from '@svc/contracts'
import { defined, isSvcError } from '@svc/plugin-sdk'
import { runErrors } from '../errors.ts'
import { desiredSchema } from './desired-schema.ts'
import { levelOf, type Renames, type SchemaPlan } from './plan.ts'
import { type PlanOptions, planSchema } from './plan-schema.ts'
import { createdStatements } from './plan-table.ts'
import { planText } from './plan-text.ts'
import { changesStatements } from './triggers.ts'

/** Generous: large tables take time. */
const TRANSACTION_TIMEOUT_MS = 3_600_000

export interface SchemaOptions {
  readonly projectRoot: string
  /** Allows losses, after a copy of a database that outlives the process. */
  readonly force?: boolean
  readonly renames?: Renames
  /** Path of the copy; called only if one is made. */
  readonly copyTo?: () => Promise<string>
}

export interface SchemaOutcome {
  readonly plan: SchemaPlan
  /** Path of the copy made before a loss; null without one. */
  readonly copy: string | null
  /** Warnings about unsupported parts. */
  readonly notes: readonly string[]
}

/** Steps that would create the declared tables of the program. */
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
 * serves: its predecessor continues with the new tables. Throws `RUN_SCHEMA_LOSSY` for a loss without force and
 * `RUN_SCHEMA_REFUSED` for an impossible change, both with the plan as text, and the errors of the store.
 */
export async function migrateSchema(
  store: DatabaseStore,
  program: Program,
  options: SchemaOptions
): Promise<SchemaOutcome> {
  const capabilities = await store.capabilities()
  const desired = desiredSchema(program, capabilities)
  const asked = planOptions(program, options)
  const first = await planSchema(store, desired, asked)
  const notes = capabilities.durable ? first.notes : [...first.notes, ...transientNotes(store, program)]
  assertAllowed(store, first, asked.force)
  if (first.statements.length === 0) return { plan: first, copy: null, notes }
  const copy =
    levelOf(first) === 'lossy' && capabilities.durable ? await copyOf(store, options, capabilities.backup) : null
  const plan = await store.transaction(
    async tx => {
      // The database may have changed meanwhile; from here on, other writers wait.
      const now = await planSchema(tx, desired, asked)
      assertAllowed(store, now, asked.force && (copy !== null || !capabilities.durable))
      for (const statement of now.statements) {
        const { sql, parameters } = typeof statement === 'string' ? { sql: statement, parameters: [] } : statement
        await tx.execute(sql, parameters).catch(error => {
          throw explained(error, store, now)
        })
      }
      return now
    },
    { timeoutMs: TRANSACTION_TIMEOUT_MS }
  )
  return { plan, copy, notes }
}

/**
 * Statements that create a program's tables in an empty database, for example for a test. Throws
 * `RUN_SCHEMA_REFUSED`.
 */
export function freshSchema(
  program: Program,
  capabilities: { readonly fts: boolean; readonly vector: boolean }
): string[] {
  const { tables, isLive, problems } = desiredSchema(program, capabilities)
  if (problems.length > 0) throw runErrors.create('RUN_SCHEMA_REFUSED', `${program.path}: ${problems.join('; ')}`)
  return [...(isLive ? changesStatements : []), ...tables.flatMap(createdStatements)]
}

function planOptions(
  { path }: Program,
  { projectRoot, force = false, renames }: SchemaOptions
): PlanOptions & { readonly force: boolean } {
  return {
    // As the user wrote it, relative to the current folder.
    program: relative(projectRoot, resolve(path)).split(sep).join('/'),
    force,
    ...defined({ renames }),
    isProgram: other => existsSync(resolve(projectRoot, other))
  }
}

function transientNotes({ location }: DatabaseStore, { module }: Program): string[] {
  if (module.tables.length === 0) return []
  return [`the database ${location} is lost with the process, including all rows of the program's tables`]
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
    throw runErrors.create('RUN_SCHEMA_LOSSY', `${location} would lose data by ${plan.program}:\n${planText(plan)}`, {
      hint: `nothing was changed; svc db migrate ${plan.program} --force migrates it after a copy`,
      data: { steps: plan.steps }
    })
}

/** A table cannot be rebuilt while a foreign view or trigger refers to it: SQLite checks all of them. */
function explained(error: unknown, { location }: DatabaseStore, { program }: SchemaPlan): unknown {
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
    throw runErrors.create('RUN_SCHEMA_REFUSED', `${store.location} cannot be copied from here, and would lose data`, {
      hint: 'copy and migrate the database on its server'
    })
  const file = await copyTo()
  await store.backup(file)
  return file
}
