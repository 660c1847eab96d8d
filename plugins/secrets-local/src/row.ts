import { vaultErrors } from '@svc/contracts'
import { deriveKey, digest, type KeyEncryptionKey, rewrapKey, type Sealed, seal, unseal } from './crypto.ts'

const CIPHER_VERSION = 1
const CONSISTENCY_VERSION = 1
const WRAP_ALGORITHM = 'chacha20-poly1305'
const ORIGIN = 'canonical'
const SEPARATOR = Uint8Array.of(0x1f)

/** Owner of a row. `profile`: absent for the canonical row of a secret. */
export interface RowName {
  readonly account: string
  readonly secret: string
  readonly profile?: string
}

/** Encrypted columns that all tables with values share, as the database returns them. */
export interface StoredRow {
  readonly ciphertext: Uint8Array
  readonly nonce: Uint8Array
  readonly cipher_version: number
  readonly dek_wrapped: Uint8Array
  readonly dek_wrap_alg: string
  readonly kek_ref: string
  readonly kek_version: number
  /** BLAKE3 of the columns that `checksum_hash` leaves out. */
  readonly aad_hash: string
  readonly updated_at_ms: number
  readonly rotation_epoch: number
  readonly rotated_at_ms: number
  readonly consistency_origin: string
  readonly consistency_version: number
  readonly last_synced_at_ms: number
  readonly checksum_hash: string
}

/** Columns of {@link StoredRow}, in the order of statements. */
export const ROW_COLUMNS = [
  'ciphertext',
  'nonce',
  'cipher_version',
  'dek_wrapped',
  'dek_wrap_alg',
  'kek_ref',
  'kek_version',
  'aad_hash',
  'updated_at_ms',
  'rotation_epoch',
  'rotated_at_ms',
  'consistency_origin',
  'consistency_version',
  'last_synced_at_ms',
  'checksum_hash'
] as const satisfies readonly (keyof StoredRow)[]

/** Keys of the vault, derived from the master password. */
export class VaultKeys {
  readonly #password: string
  readonly current: KeyEncryptionKey
  readonly #derived = new Map<string, Uint8Array>()

  constructor(password: string, current: KeyEncryptionKey) {
    this.#password = password
    this.current = current
  }

  of(key: KeyEncryptionKey): Uint8Array {
    const name = `${key.version} ${key.ref}`
    const known = this.#derived.get(name)
    if (known !== undefined) return known
    const derived = deriveKey(this.#password, key)
    this.#derived.set(name, derived)
    return derived
  }
}

/** Encrypts a value into a row. */
export function sealRow(
  value: string,
  name: RowName,
  keys: VaultKeys,
  { epoch, nowMs }: { readonly epoch: number; readonly nowMs: number }
): StoredRow {
  const sealed = seal(value, keys.of(keys.current))
  return toRow(sealed, keys.current, name, { epoch, rotatedAtMs: nowMs, nowMs })
}

/** Decrypts the value of a row. Throws `SEV_TAMPERED` if any byte of the row was changed. */
export function openRow(row: StoredRow, name: RowName, keys: VaultKeys): string {
  assertIntact(row, name)
  try {
    return unseal(sealedOf(row), keys.of(kekOf(row)))
  } catch {
    throw tampered(name, 'it cannot be decrypted with the master key of this machine')
  }
}

/** Encrypts the data key of a row with the current key. Returns null if it already is. */
export function rewrapRow(row: StoredRow, name: RowName, keys: VaultKeys, nowMs: number): StoredRow | null {
  const { current } = keys
  if (row.kek_ref === current.ref && row.kek_version === current.version) return null
  // Also proves that the value can be decrypted, before the old form is replaced.
  openRow(row, name, keys)
  const wrappedKey = rewrapKey(row.dek_wrapped, keys.of(kekOf(row)), keys.of(current))
  const { rotation_epoch: epoch, rotated_at_ms: rotatedAtMs } = row
  return toRow({ ...sealedOf(row), wrappedKey }, current, name, { epoch, rotatedAtMs, nowMs })
}

function toRow(
  { nonce, ciphertext, wrappedKey }: Sealed,
  { ref, version }: KeyEncryptionKey,
  name: RowName,
  { epoch, rotatedAtMs, nowMs }: { readonly epoch: number; readonly rotatedAtMs: number; readonly nowMs: number }
): StoredRow {
  const row = {
    ciphertext,
    nonce,
    cipher_version: CIPHER_VERSION,
    dek_wrapped: wrappedKey,
    dek_wrap_alg: WRAP_ALGORITHM,
    kek_ref: ref,
    kek_version: version,
    updated_at_ms: nowMs,
    rotation_epoch: epoch,
    rotated_at_ms: rotatedAtMs,
    consistency_origin: ORIGIN,
    consistency_version: CONSISTENCY_VERSION,
    last_synced_at_ms: nowMs
  }
  return { ...row, aad_hash: metadataHash(row, name), checksum_hash: checksum(row, name) }
}

function assertIntact(row: StoredRow, name: RowName): void {
  if (row.cipher_version !== CIPHER_VERSION) throw tampered(name, `its cipher version is not ${CIPHER_VERSION}`)
  if (row.dek_wrap_alg !== WRAP_ALGORITHM) throw tampered(name, `its key is not encrypted with ${WRAP_ALGORITHM}`)
  if (row.checksum_hash !== checksum(row, name)) throw tampered(name, 'its checksum does not match')
  if (row.aad_hash !== metadataHash(row, name)) throw tampered(name, 'the checksum of its times does not match')
}

type Hashed = Omit<StoredRow, 'aad_hash' | 'checksum_hash'>

function checksum(row: Hashed, { account, secret, profile }: RowName): string {
  return digest([
    ...[account, SEPARATOR, profile === undefined ? secret : `${secret}@${profile}`, SEPARATOR],
    ...[row.ciphertext, SEPARATOR, row.nonce, row.cipher_version, row.dek_wrapped, row.kek_ref, row.kek_version],
    ...[row.rotation_epoch, row.consistency_version]
  ])
}

function metadataHash(row: Hashed, { account, secret }: RowName): string {
  return digest([
    ...[account, SEPARATOR, secret, SEPARATOR, row.dek_wrap_alg, SEPARATOR, row.consistency_origin, SEPARATOR],
    ...[row.updated_at_ms, row.rotated_at_ms, row.last_synced_at_ms]
  ])
}

function sealedOf({ nonce, ciphertext, dek_wrapped: wrappedKey }: StoredRow): Sealed {
  return { nonce, ciphertext, wrappedKey }
}

function kekOf({ kek_ref: ref, kek_version: version }: StoredRow): KeyEncryptionKey {
  return { ref, version }
}

export function tampered({ secret, profile }: RowName, why: string): Error {
  const row = profile === undefined ? secret : `${secret} for the profile ${profile}`
  return vaultErrors.create('SEV_TAMPERED', `the vault's row of ${row}: ${why}`, {
    hint: 'svc secrets versions lists earlier versions; svc secrets set stores the secret again',
    data: { secret }
  })
}
