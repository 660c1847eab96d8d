import { join } from 'node:path'
import type { DatabaseStore, HirModule, Program } from '@svc/contracts'
import { columnType } from '../schema/column-type.ts'
import { tableName } from '../schema/names.ts'
import { DiskBlobs } from './disk-blobs.ts'
import { type FileColumn, FileStorage } from './file-storage.ts'
import { Staging } from './staging.ts'

export interface StorageSettings {
  /** Folder of the content; relative paths start at the project. */
  readonly folder: string
  readonly maxBytes: number
}

/** Opens the storage of a program's files. `program`: its key. */
export function openStorage(
  program: Program,
  key: string,
  store: DatabaseStore,
  { folder, maxBytes }: StorageSettings
): FileStorage {
  return new FileStorage({
    store,
    program: key,
    staging: new Staging(join(folder, 'incoming'), maxBytes),
    blobs: new DiskBlobs(folder),
    columns: fileColumns(program.module)
  })
}

/** Returns the columns that hold files. */
export function fileColumns(module: Pick<HirModule, 'tables' | 'types'>): FileColumn[] {
  return module.tables.flatMap(table =>
    table.fields
      .filter(({ type_ann }) => columnType(type_ann, module).kind === 'file')
      .map(({ name }) => ({ table: tableName(table.name), column: name }))
  )
}
