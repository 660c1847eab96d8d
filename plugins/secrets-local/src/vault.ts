import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { InStatement, Row } from '@libsql/client/http'
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
import { isConstraint, type VaultDatabase } from './database.ts'
import { Delegations } from './delegations.ts'
import { hostHint } from './location.ts'
import { openRow, ROW_COLUMNS, type RowName, rewrapRow, type StoredRow, sealRow, tampered, VaultKeys } from './row.ts'

/** Entry of the master password in the keyring. */
const MASTER = { collection: 'vox-secrets-vault', account: 'master' } as const
const FIRST_SECRET =
  'SELECT secret_id FROM clavis_account_secrets UNION ALL SELECT secret_id FROM clavis_profile_overrides LIMIT 1'
const MASTER_BYTES = 32
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
  /** Setting or variable that selects the vault; null if none does. */
  readonly selectedBy: string | null
  now(): number
}

export class LocalVault implements SecretVault {
  readonly #options: VaultOptions
  #keys: VaultKeys | null = null
  /** The last change, which the next one follows. */
  #last: Promise<unknown> = Promise.resolve()

  readonly #delegations: Delegations

  constructor(options: VaultOptions) {
    this.#options = options
    this.#delegations = new Delegations(options.database, options.account, options.now)
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
      const value = openRow(stored, owner, await this.#existingKeys(owner))
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
    const keys = await this.#writableKeys()
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
      const [result] = await this.#options.database.write([
        { sql: remove, args: [name.account, key, name.profile] },
        ...this.#auditRow(key, `override ${name.profile}`, by, 'removed')
      ])
      if (result?.rowsAffected === 0) throw unknown(`${key} for the profile ${name.profile}`)
      return
    }
    assertValue(key, value)
    const row = sealRow(value, name, await this.#writableKeys(), { epoch: 1, nowMs: this.#options.now() })
    await this.#options.database.write([
      upsert('clavis_profile_overrides', { account_id: name.account, secret_id: key, profile: name.profile }, row),
      ...this.#auditRow(key, `override ${name.profile}`, by, 'ok')
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
    const keys = await this.#writableKeys()
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
    const keys = await this.#writableKeys()
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
        await this.#options.database.write([
          insertVersion({ ...id, ...about }, next),
          upsert('clavis_account_secrets', id, next),
          this.#prune(key, version + 1),
          ...this.#auditRow(key, 'rewrap', by, 'ok')
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
      this.#seal(await this.#writableKeys())
    )
    const detail = `${request.agent}, ${request.scopes.join(' and ')}`
    await this.#options.database.write([statement, ...this.#auditRow(key, 'delegate', request.by, 'ok', detail)])
    return { delegation, token }
  }

  delegations(): Promise<readonly VaultDelegation[]> {
    return this.#delegations.list()
  }

  async revoke(id: string, by: string): Promise<boolean> {
    const found = await this.#delegations.find(id)
    if (found === undefined || found.revokedAtMs !== null) return false
    const [result] = await this.#options.database.write([
      this.#delegations.revocation(id),
      ...this.#auditRow(found.secret, 'revoke', by, 'ok', id)
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
    return this.#delegations.check(token, scope, async () => this.#seal(await this.#writableKeys()))
  }

  /** Key that authenticates delegations. Independent of the version of the key-encryption key. */
  #seal(keys: VaultKeys): Uint8Array {
    return keys.of({ ref: 'delegations', version: 1 })
  }

  async audit(limit: number, key?: string): Promise<readonly VaultAuditRow[]> {
    const rows = await this.#read(
      'SELECT at_ms, secret_id, action, actor, outcome, detail FROM clavis_audit_log WHERE account_id = ? ' +
        `${key === undefined ? '' : 'AND secret_id = ? '}ORDER BY id DESC LIMIT ?`,
      [this.#options.account, ...(key === undefined ? [] : [key]), limit]
    )
    return rows.map(row => ({
      atMs: Number(row.at_ms),
      secret: String(row.secret_id),
      action: String(row.action),
      actor: String(row.actor),
      outcome: String(row.outcome),
      detail: String(row.detail)
    }))
  }

  async keys(): Promise<readonly string[]> {
    const rows = await this.#read(
      'SELECT secret_id FROM clavis_account_secrets WHERE account_id = ? ORDER BY secret_id',
      [this.#options.account]
    )
    return rows.map(row => String(row.secret_id))
  }

  async status(): Promise<VaultStatus> {
    const { database, policy, account, keyring } = this.#options
    const { location } = database
    let problem: string | null = null
    let hasMasterKey = false
    try {
      hasMasterKey = (await keyring.get(MASTER.collection, MASTER.account)) !== null
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
      const [result] = await this.#options.database.write([
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
    await this.#options.database.write([
      insertVersion({ ...id, version, operation, created_by: by, created_at_ms: nowMs }, row),
      upsert('clavis_account_secrets', id, row),
      this.#prune(key, version),
      ...this.#auditRow(key, operation, by, 'ok', `version ${version}`)
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
    const rows = this.#auditRow(key, action, by, outcome)
    if (rows.length > 0) await this.#options.database.write(rows)
  }

  #auditRow(key: string, action: string, by: string, outcome: string, detail = ''): InStatement[] {
    if (!this.#options.audited) return []
    const { account } = this.#options
    return [
      {
        sql: 'INSERT INTO clavis_audit_log (at_ms, account_id, secret_id, action, actor, outcome, detail) VALUES (?, ?, ?, ?, ?, ?, ?)',
        args: [this.#options.now(), account, key, action, by, outcome, detail]
      }
    ]
  }

  /** Returns the keys for a row that exists. Throws `SEV_MASTER_MISSING`. */
  async #existingKeys(name: RowName): Promise<VaultKeys> {
    if (this.#keys !== null) return this.#keys
    const password = await this.#options.keyring.get(MASTER.collection, MASTER.account)
    if (password === null) throw await this.#masterMissing(name.secret)
    this.#keys = new VaultKeys(password, this.#options.kek)
    return this.#keys
  }

  /** Returns the keys, and creates the master password for an empty vault. Throws `SEV_MASTER_MISSING`. */
  async #writableKeys(): Promise<VaultKeys> {
    if (this.#keys !== null) return this.#keys
    const { keyring, kek } = this.#options
    let password = await keyring.get(MASTER.collection, MASTER.account)
    if (password === null) {
      const [first] = await this.#read(FIRST_SECRET, [])
      if (first !== undefined) throw await this.#masterMissing(String(first.secret_id))
      const make = (): string => randomBytes(MASTER_BYTES).toString('hex')
      password = await keyring.getOrCreate(MASTER.collection, MASTER.account, make)
    }
    this.#keys = new VaultKeys(password, kek)
    return this.#keys
  }

  async #masterMissing(secret: string): Promise<Error> {
    const { place } = await this.#options.keyring.status()
    return vaultErrors.create(
      'SEV_MASTER_MISSING',
      `the vault has ${secret}, but ${place} has no entry ${MASTER.account} of ${MASTER.collection}`,
      { hint: 'sign in with the keyring that created the vault, or move the file of the vault away to start a new one' }
    )
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

const BYTES = new Set(['ciphertext', 'nonce', 'dek_wrapped'])
const TEXTS = new Set(['dek_wrap_alg', 'kek_ref', 'aad_hash', 'consistency_origin', 'checksum_hash'])

/** Converts a row. Throws `SEV_TAMPERED` for values of other types, and for integers that are not safe. */
function storedRow(row: Row, name: RowName): StoredRow {
  const entries = ROW_COLUMNS.map(column => {
    const value = row[column]
    if (BYTES.has(column)) {
      if (value instanceof ArrayBuffer) return [column, new Uint8Array(value)]
      if (ArrayBuffer.isView(value)) return [column, new Uint8Array(value.buffer, value.byteOffset, value.byteLength)]
    } else if (TEXTS.has(column)) {
      if (typeof value === 'string') return [column, value]
    } else if (typeof value === 'bigint' || typeof value === 'number') {
      if (Number.isSafeInteger(Number(value))) return [column, Number(value)]
    }
    throw tampered(name, `its column ${column} has a value of another type`)
  })
  return Object.fromEntries(entries) as StoredRow
}

function insertVersion(about: Readonly<Record<string, string | number>>, row: StoredRow): InStatement {
  const columns = [...Object.keys(about), ...ROW_COLUMNS]
  return {
    sql: `INSERT INTO clavis_secret_versions (${columns.join(', ')}) VALUES (${columns.map(() => '?').join(', ')})`,
    args: [...Object.values(about), ...ROW_COLUMNS.map(column => row[column])]
  }
}

function upsert(table: string, id: Readonly<Record<string, string>>, row: StoredRow): InStatement {
  const columns = [...Object.keys(id), ...ROW_COLUMNS]
  const assignments = ROW_COLUMNS.map(column => `${column} = excluded.${column}`).join(', ')
  return {
    sql:
      `INSERT INTO ${table} (${columns.join(', ')}) VALUES (${columns.map(() => '?').join(', ')}) ` +
      `ON CONFLICT (${Object.keys(id).join(', ')}) DO UPDATE SET ${assignments}`,
    args: [...Object.values(id), ...ROW_COLUMNS.map(column => row[column])]
  }
}
