import { join, resolve } from 'node:path'
import type { HirModule, Program } from '@svc/contracts'
import { defined } from '@svc/plugin-sdk'
import { columnType } from '../schema/column-type.ts'
import { tableName } from '../schema/names.ts'
import { type FilesSettings, filesSettings, type Settings } from '../settings.ts'
import type { BlobStore } from './blob-store.ts'
import { DiskBlobs } from './disk-blobs.ts'
import { type FileColumn, FileStorage, type FileStorageOptions } from './file-storage.ts'
import { S3Blobs } from './s3-blobs.ts'
import { S3Client } from './s3-client.ts'
import { Staging } from './staging.ts'

export interface StorageSettings {
  /** Absolute path of the folder of the content, or only of arriving files if there is a bucket. */
  readonly folder: string
  readonly maxBytes: number
  /** Bucket of the content. */
  readonly s3: BlobStore | null
}

/** Opens the storage of a program's files. `key`: key of the program. `prefix`: see `FileStorageOptions`. */
export function openStorage(
  program: Program,
  key: string,
  store: FileStorageOptions['store'],
  { folder, maxBytes, s3 }: StorageSettings,
  prefix?: string
): FileStorage {
  return new FileStorage({
    store,
    program: key,
    staging: new Staging(join(folder, 'incoming'), maxBytes),
    blobs: s3 ?? new DiskBlobs(folder),
    columns: fileColumns(program.module),
    ...defined({ prefix })
  })
}

/** Returns the columns that hold files. */
function fileColumns(module: Pick<HirModule, 'tables' | 'types'>): FileColumn[] {
  return module.tables.flatMap(table =>
    table.fields
      .filter(({ type_ann }) => columnType(type_ann, module).kind === 'file')
      .map(({ name }) => ({ table: tableName(table.name), column: name }))
  )
}

/** Returns where the configuration stores files. */
export function storageSettings(config: Pick<Settings, 'files'>, projectRoot: string): StorageSettings {
  const { folder, max_bytes: maxBytes, s3 } = filesSettings(config)
  return { folder: resolve(projectRoot, folder), maxBytes, s3: s3 === undefined ? null : bucketOf(s3) }
}

function bucketOf(s3: NonNullable<FilesSettings['s3']>): S3Blobs {
  const client = new S3Client({
    endpoint: s3.endpoint,
    region: s3.region,
    bucket: s3.bucket,
    accessKey: s3.access_key,
    secretKey: s3.secret_key,
    pathStyle: s3.path_style,
    ...defined({ sessionToken: s3.session_token })
  })
  return new S3Blobs(client, s3.prefix)
}
