import { setTimeout as sleep } from 'node:timers/promises'
import type { InStatement, ResultSet, Row } from '@libsql/client/http'
import {
  type DelegationRequest,
  type DelegationScope,
  type SecretKeyring,
  type SecretProfile,
  type SecretsPolicy,
  type SecretVault,
  type VaultAuditRow,
  type VaultChange,
  type VaultDelegation,
  type VaultOperation,
  type VaultSecret,
  type VaultStatus,
  type VaultVersion,
  vaultErrors
} from '@svc/contracts'
import { errorMessage, isSvcError } from '@svc/plugin-sdk'
import { AuditLog } from './audit-log.ts'
import { isConstraint, type VaultDatabase } from './database.ts'
import { Delegations } from './delegations.ts'
import { hostHint } from './location.ts'
import { MasterKey } from './master-key.ts'
import { Retention, type RetentionLimits } from './retention.ts'
import { openRow, ROW_COLUMNS, type RowName, rewrapRow, type StoredRow, sealRow, type VaultKeys } from './row.ts'
import { insertVersion, storedRow, upsert } from './statements.ts'

const MAX_VALUE_BYTES = 65_536
const MAX_KEY_LENGTH = 256
const KEY = /^\P{Cc}+$/u
/** Attempts of a change whose version number another process took at the same time. */
const MAX_ATTEMPTS = 20
const PAUSE_MS = 10
export const DEFAULT_ACCOUNT = 'default-account'

export interface VaultOptions {
  readonly database: VaultDatabase
  readonly keyring: SecretKeyring
  readonly policy: SecretsPolicy
  readonly account: string
  readonly kek: { readonly ref: string; readonly version: number }
  /** Versions kept of each secret. */
  readonly history: number
  readonly audited: boolean
  /** Limits for the audit log and for ended delegations. */
  readonly retention: RetentionLimits
  /** Setting or variable that selects the vault; null if none does. */
  readonly selectedBy: string | null
  now(): number
}

export class LocalVault implements SecretVault {
  readonly #options: VaultOptions
  readonly #master: MasterKey
  readonly #log: AuditLog
  readonly #retention: Retention
  readonly #delegations: Delegations
  /** The last change, which the next one follows. */
  #last: Promise<unknown> = Promise.resolve()

  constructor(options: VaultOptions) {
    const { database, keyring, account, kek, audited, retention, now } = options
    this.#options = options
    this.#master = new MasterKey(keyring, database, kek)
    this.#log = new AuditLog(database, account, audited, now)
    this.#retention = new Retention(account, retention, now)
    this.#delegations = new Delegations(database, account, now)
  }

  async get(key: string, profile: SecretProfile, by: string): Promise<VaultSecret | null> {
    assertKey(key)
    const name = this.#name(key)
    const columns = ROW_COLUMNS.join(', ')
    const [override] = await this.#read(
      `SELECT ${columns} FROM clavis_profile_overrides WHERE account_id = ? AND secret_id = ? AND profile = ?`,
      [name.account, key, columnOf(profile)]
    )
    const [canonical] = override === undefined ? await this.#canonical(key) : []
    const row = override ?? canonical
    // Not recorded: the doctor looks for every declared secret.
    if (row === undefined) return null
    const owner = override === undefined ? name : { ...name, profile: columnOf(profile) }
    try {
      const stored = storedRow(row, owner)
      const value = openRow(stored, owner, await this.#master.existing(key))
      await this.#audit(key, 'read', by, 'ok')
      return { value, overridden: override !== undefined, rotatedAtMs: stored.rotated_at_ms }
    } catch (error) {
      await this.#audit(key, 'read', by, isSvcError(error) ? error.code : 'failed')
      throw error
    }
  }

  async set(key: string, value: string, change: VaultChange): Promise<number> {
    assertKey(key)
    assertValue(key, value)
    const keys = await this.#master.writable()
    return this.#retried(key, async () => {
      const { version, row } = await this.#latest(key)
      const operation = change.operation ?? (row === undefined ? 'create' : 'rotate')
      return this.#store(key, value, keys, { version: version + 1, row }, operation, change.by)
    })
  }

  async override(key: string, profile: SecretProfile, value: string | null, { by }: VaultChange): Promise<void> {
    assertKey(key)
    const name = { ...this.#name(key), profile: columnOf(profile) }
    if (value === null) {
      const remove = 'DELETE FROM clavis_profile_overrides WHERE account_id = ? AND secret_id = ? AND profile = ?'
      const [result] = await this.#write([
        { sql: remove, args: [name.account, key, name.profile] },
        ...this.#log.entry(key, `override ${name.profile}`, by, 'removed')
      ])
      if (result?.rowsAffected === 0) throw unknown(`${key} for the profile ${name.profile}`)
      return
    }
    assertValue(key, value)
    const row = sealRow(value, name, await this.#master.writable(), { epoch: 1, nowMs: this.#options.now() })
    await this.#write([
      upsert('clavis_profile_overrides', { account_id: name.account, secret_id: key, profile: name.profile }, row),
      ...this.#log.entry(key, `override ${name.profile}`, by, 'ok')
    ])
  }

  async versions(key: string): Promise<readonly VaultVersion[]> {
    assertKey(key)
    const rows = await this.#read(
      'SELECT version, operation, created_by, created_at_ms FROM clavis_secret_versions ' +
        'WHERE account_id = ? AND secret_id = ? ORDER BY version DESC',
      [this.#options.account, key]
    )
    return rows.map((row, index) => ({
      version: Number(row.version),
      operation: row.operation as VaultOperation,
      createdBy: String(row.created_by),
      createdAtMs: Number(row.created_at_ms),
      current: index === 0
    }))
  }

  async rollback(key: string, version: number, { by }: VaultChange): Promise<number> {
    assertKey(key)
    const keys = await this.#master.writable()
    return this.#retried(key, async () => {
      const latest = await this.#latest(key)
      if (latest.row === undefined) throw unknown(key)
      const [wanted] = await this.#read(
        `SELECT ${ROW_COLUMNS.join(', ')} FROM clavis_secret_versions ` +
          'WHERE account_id = ? AND secret_id = ? AND version = ?',
        [this.#options.account, key, version]
      )
      if (wanted === undefined)
        throw vaultErrors.create('SEV_VERSION_UNKNOWN', `the vault does not keep version ${version} of ${key}`, {
          hint: `svc secrets versions ${key} lists the versions`
        })
      const name = this.#name(key)
      const value = openRow(storedRow(wanted, name), name, keys)
      return this.#store(key, value, keys, { ...latest, version: latest.version + 1 }, 'rollback', by)
    })
  }

  async rewrap({ by }: VaultChange): Promise<number> {
    const keys = await this.#master.writable()
    const nowMs = this.#options.now()
    const { account } = this.#options
    let changed = 0
    for (const key of await this.keys()) {
      const current = await this.#retried(key, async () => {
        const { version, row } = await this.#latest(key)
        const name = this.#name(key)
        const next = row === undefined ? null : rewrapRow(row, name, keys, nowMs)
        if (next === null || row === undefined) return 0
        const id = { account_id: account, secret_id: key }
        const about = { version: version + 1, operation: 'rewrap', created_by: by, created_at_ms: nowMs }
        await this.#write([
          insertVersion({ ...id, ...about }, next),
          upsert('clavis_account_secrets', id, next),
          this.#prune(key, version + 1),
          ...this.#log.entry(key, 'rewrap', by, 'ok')
        ])
        return 1
      })
      changed += current
    }
    changed += await this.#rewrapRows('clavis_secret_versions', keys, nowMs)
    changed += await this.#rewrapRows('clavis_profile_overrides', keys, nowMs)
    return changed
  }

  async delegate(key: string, request: DelegationRequest): Promise<{ delegation: VaultDelegation; token: string }> {
    assertKey(key)
    const [row] = await this.#canonical(key)
    if (row === undefined) throw unknown(key)
    const { delegation, token, statement } = this.#delegations.grant(
      key,
      request,
      this.#seal(await this.#master.writable())
    )
    const detail = `${request.agent}, ${request.scopes.join(' and ')}`
    await this.#write([statement, ...this.#log.entry(key, 'delegate', request.by, 'ok', detail)])
    return { delegation, token }
  }

  delegations(): Promise<readonly VaultDelegation[]> {
    return this.#delegations.list()
  }

  async revoke(id: string, by: string): Promise<boolean> {
    const found = await this.#delegations.find(id)
    if (found === undefined || found.revokedAtMs !== null) return false
    const [result] = await this.#write([
      this.#delegations.revocation(id),
      ...this.#log.entry(found.secret, 'revoke', by, 'ok', id)
    ])
    return (result?.rowsAffected ?? 0) > 0
  }

  async getDelegated(token: string, profile: SecretProfile): Promise<{ key: string; value: string }> {
    const { secret: key, agent } = await this.#delegated(token, 'read')
    const found = await this.get(key, profile, `agent:${agent}`)
    if (found === null) throw unknown(key)
    return { key, value: found.value }
  }

  async rotateDelegated(token: string, value: string): Promise<{ key: string; version: number }> {
    const { secret: key, agent } = await this.#delegated(token, 'rotate')
    return { key, version: await this.set(key, value, { by: `agent:${agent}`, operation: 'rotate' }) }
  }

  #delegated(token: string, scope: DelegationScope): Promise<VaultDelegation> {
    return this.#delegations.check(token, scope, async () => this.#seal(await this.#master.writable()))
  }

  /** Key that authenticates delegations. Independent of the version of the key-encryption key. */
  #seal(keys: VaultKeys): Uint8Array {
    return keys.of({ ref: 'delegations', version: 1 })
  }

  audit(limit: number, key?: string, before?: number): Promise<readonly VaultAuditRow[]> {
    return this.#log.list(limit, key, before)
  }

  async keys(): Promise<readonly string[]> {
    const rows = await this.#read(
      'SELECT secret_id FROM clavis_account_secrets WHERE account_id = ? ORDER BY secret_id',
      [this.#options.account]
    )
    return rows.map(row => String(row.secret_id))
  }

  async status(): Promise<VaultStatus> {
    const { database, policy, account } = this.#options
    const { location } = database
    let problem: string | null = null
    let hasMasterKey = false
    try {
      hasMasterKey = await this.#master.exists()
      await this.keys()
    } catch (error) {
      problem = errorMessage(error)
    }
    return {
      mode: location.mode,
      urlSource: location.urlSource,
      hostHint: hostHint(location),
      tokenSource: location.tokenSource,
      tokenPresent: location.tokenSource !== 'none',
      compatAliasesAllowed: policy.legacySqlAliases,
      account,
      accountIsDefault: account === DEFAULT_ACCOUNT,
      selectedBy: this.#options.selectedBy,
      hasMasterKey,
      problem
    }
  }

  /** Rewraps rows of a table that are not current, in place. A row that another process changed meanwhile is left out. */
  async #rewrapRows(table: string, keys: VaultKeys, nowMs: number): Promise<number> {
    const { account } = this.#options
    const isOverride = table === 'clavis_profile_overrides'
    const third = isOverride ? 'profile' : 'version'
    const rows = await this.#read(
      `SELECT secret_id, ${third}, ${ROW_COLUMNS.join(', ')} FROM ${table} ` +
        'WHERE account_id = ? AND (kek_ref <> ? OR kek_version <> ?)',
      [account, keys.current.ref, keys.current.version]
    )
    let changed = 0
    for (const row of rows) {
      const key = String(row.secret_id)
      const name = isOverride ? { ...this.#name(key), profile: String(row.profile) } : this.#name(key)
      const stored = storedRow(row, name)
      const next = rewrapRow(stored, name, keys, nowMs)
      if (next === null) continue
      const assignments = ROW_COLUMNS.map(column => `${column} = ?`).join(', ')
      const [result] = await this.#write([
        {
          sql: `UPDATE ${table} SET ${assignments} WHERE account_id = ? AND secret_id = ? AND ${third} = ? AND checksum_hash = ?`,
          args: [...ROW_COLUMNS.map(column => next[column]), account, key, row[third] ?? null, stored.checksum_hash]
        }
      ])
      changed += result?.rowsAffected ?? 0
    }
    return changed
  }

  /** Stores a value as the current one and as a new version. Returns the version. */
  async #store(
    key: string,
    value: string,
    keys: VaultKeys,
    { version, row: previous }: { readonly version: number; readonly row: StoredRow | undefined },
    operation: VaultOperation,
    by: string
  ): Promise<number> {
    const nowMs = this.#options.now()
    const row = sealRow(value, this.#name(key), keys, { epoch: (previous?.rotation_epoch ?? 0) + 1, nowMs })
    const id = { account_id: this.#options.account, secret_id: key }
    await this.#write([
      insertVersion({ ...id, version, operation, created_by: by, created_at_ms: nowMs }, row),
      upsert('clavis_account_secrets', id, row),
      this.#prune(key, version),
      ...this.#log.entry(key, operation, by, 'ok', `version ${version}`)
    ])
    return version
  }

  #prune(key: string, version: number): InStatement {
    return {
      sql: 'DELETE FROM clavis_secret_versions WHERE account_id = ? AND secret_id = ? AND version <= ?',
      args: [this.#options.account, key, version - this.#options.history]
    }
  }

  /** Returns the last version number, 0 without versions, and the current row. */
  async #latest(key: string): Promise<{ readonly version: number; readonly row: StoredRow | undefined }> {
    const [latest] = await this.#read(
      'SELECT MAX(version) AS version FROM clavis_secret_versions WHERE account_id = ? AND secret_id = ?',
      [this.#options.account, key]
    )
    const [row] = await this.#canonical(key)
    let stored: StoredRow | undefined
    try {
      stored = row === undefined ? undefined : storedRow(row, this.#name(key))
    } catch {
      // A damaged row is replaced by the next one.
    }
    return { version: Number(latest?.version ?? 0), row: stored }
  }

  #canonical(key: string): Promise<readonly Row[]> {
    return this.#read(
      `SELECT ${ROW_COLUMNS.join(', ')} FROM clavis_account_secrets WHERE account_id = ? AND secret_id = ?`,
      [this.#options.account, key]
    )
  }

  /** Runs one change at a time, and again if another process took its version number. */
  #retried<A>(key: string, run: () => Promise<A>): Promise<A> {
    const result = this.#last.then(() => this.#attempt(key, run))
    this.#last = result.catch(() => {})
    return result
  }

  async #attempt<A>(key: string, run: () => Promise<A>): Promise<A> {
    for (let attempt = 1; attempt <= MAX_ATTEMPTS; attempt++) {
      try {
        return await run()
      } catch (error) {
        if (!isConstraint(error)) throw error
        // Other processes try again at the same time.
        await sleep(Math.random() * PAUSE_MS * attempt)
      }
    }
    throw vaultErrors.create('SEV_CONFLICT', `${key} was changed by other processes ${MAX_ATTEMPTS} times`, {
      hint: 'try again'
    })
  }

  #name(secret: string): RowName {
    return { account: this.#options.account, secret }
  }

  #read(sql: string, args: readonly (string | number)[]): Promise<readonly Row[]> {
    return this.#options.database.read(sql, args)
  }

  async #audit(key: string, action: string, by: string, outcome: string): Promise<void> {
    const entry = this.#log.entry(key, action, by, outcome)
    if (entry.length > 0) await this.#write(entry)
  }

  /** Runs all statements or none, and removes old rows with some of them. Returns the results of the statements. */
  async #write(statements: readonly InStatement[]): Promise<readonly ResultSet[]> {
    const upkeep = this.#retention.statements()
    const results = await this.#options.database.write([...statements, ...upkeep])
    this.#retention.applied(results.slice(statements.length))
    return results.slice(0, statements.length)
  }
}

function assertKey(key: string): void {
  if (key.length <= MAX_KEY_LENGTH && KEY.test(key)) return
  throw vaultErrors.create(
    'SEV_KEY_INVALID',
    `the name of a secret must have 1 to ${MAX_KEY_LENGTH} characters, none of them a control character`,
    { hint: 'use the id or the environment variable of the secret' }
  )
}

function assertValue(key: string, value: string): void {
  const bytes = Buffer.byteLength(value)
  if (bytes > 0 && bytes <= MAX_VALUE_BYTES) return
  throw vaultErrors.create('SEV_VALUE_INVALID', `the value for ${key} has ${bytes} bytes`, {
    hint: `a value has 1 to ${MAX_VALUE_BYTES} bytes`
  })
}

function unknown(what: string): Error {
  return vaultErrors.create('SEV_UNKNOWN', `the vault has no ${what}`, {
    hint: 'svc secrets set stores it; svc secrets status lists the declared ones'
  })
}

/** Returns the spelling of a profile in the tables. */
function columnOf(profile: SecretProfile): string {
  return profile === 'hard_cut' ? 'hardcut' : profile
}
