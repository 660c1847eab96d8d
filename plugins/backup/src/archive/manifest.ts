import { backupErrors, damaged } from '../errors.ts'

/** First file of an archive, so that its format is known before anything else is read. */
export const HEADER_FILE = 'svc-backup.json'
/** Last file of an archive. An archive without it is incomplete. */
export const MANIFEST_FILE = 'manifest.json'
export const FORMAT = 1
/** Maximum size of the two files. */
export const MAX_JSON_BYTES = 268_435_456

export interface ArchiveHeader {
  readonly format: number
  readonly svc_version: string
  /** ISO 8601. */
  readonly created_at: string
  readonly repository_id: string
  /** Name of the project's folder. */
  readonly project: string
}

export interface ArchiveFile {
  readonly path: string
  readonly bytes: number
  readonly sha256: string
  readonly kind: 'file' | 'sqlite'
  /** Part that the file belongs to; null for the project and the rest of the state folder. */
  readonly part: string | null
  readonly keys: boolean
  /** Path of the file outside of project and state folder; null inside. */
  readonly origin: string | null
}

export interface LeftOut {
  readonly path: string
  readonly reason: string
}

export interface Manifest extends ArchiveHeader {
  readonly plugins: readonly { readonly name: string; readonly version: string }[]
  /** Versions of the schemas: of `PRAGMA user_version`, and of the table `schema_version` where there is one. */
  readonly databases: readonly {
    readonly path: string
    readonly user_version: number
    readonly schema_version: number | null
  }[]
  readonly with_keys: boolean
  readonly left_out: readonly LeftOut[]
  readonly files: readonly ArchiveFile[]
}

/** Reads the first file. Throws `BKP_FORMAT_NEWER` and `BKP_DAMAGED`. */
export function parseHeader(text: string): ArchiveHeader {
  const header = parseJson(text) as Partial<ArchiveHeader>
  const { format, svc_version, created_at, repository_id, project } = header
  if (typeof format !== 'number') throw damaged(`${HEADER_FILE} has no format`)
  if (format > FORMAT)
    throw backupErrors.create(
      'BKP_FORMAT_NEWER',
      `the archive has format ${format}, written by svc ${svc_version}, but this svc reads up to format ${FORMAT}`,
      { hint: 'upgrade svc, and restore it then' }
    )
  for (const value of [svc_version, created_at, repository_id, project])
    if (typeof value !== 'string') throw damaged(`${HEADER_FILE} is incomplete`)
  return header as ArchiveHeader
}

/** Reads the last file. Throws `BKP_DAMAGED`. */
export function parseManifest(text: string): Manifest {
  const manifest = parseJson(text) as Partial<Manifest>
  const isFile = (value: Partial<ArchiveFile>): boolean =>
    typeof value?.path === 'string' && typeof value.bytes === 'number' && typeof value.sha256 === 'string'
  if (!Array.isArray(manifest.files) || !manifest.files.every(isFile) || !Array.isArray(manifest.left_out))
    throw damaged(`${MANIFEST_FILE} is incomplete`)
  return manifest as Manifest
}

function parseJson(text: string): object {
  try {
    const value: unknown = JSON.parse(text)
    if (typeof value === 'object' && value !== null) return value
  } catch {
    // Reported below.
  }
  throw damaged('its list of files cannot be read')
}
