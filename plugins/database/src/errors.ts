import { errorTable } from '@svc/plugin-sdk'

export const pluginErrors = errorTable({
  DBP_BACKUP_INVALID: { message: 'A file is not a restorable backup.', status: 422 },
  DBP_CIRCUIT_OPEN: { message: 'Writes are rejected for 30 seconds after five failures in a row.', status: 503 },
  DBP_CODEX_REFUSED: { message: 'A change refers to a missing object, or creates an existing one.', status: 400 },
  DBP_CODEX_UNKNOWN: { message: 'The database has no object with that name or id.', status: 404 },
  DBP_JOURNEY_UNKNOWN: { message: 'The database has no journey of that name.', status: 404 },
  DBP_MVCC_UNSUPPORTED: { message: 'The setting mvcc is on, but the engine has no concurrent writers.', status: 400 },
  DBP_REMOTE_INCOMPLETE: {
    message: 'The settings name half of a remote database: a URL without a token, or a token without a URL.',
    status: 400
  },
  DBP_SCHEMA_CONFLICT: {
    message: 'A database has tables that cannot be migrated to the schema of this svc.',
    status: 409
  },
  DBP_SCHEMA_NEWER: { message: 'A later version of svc created the database.', status: 409 },
  DBP_URL_INVALID: { message: 'A setting for a remote database is not a valid URL.', status: 400 }
})
