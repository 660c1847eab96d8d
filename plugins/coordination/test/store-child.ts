// Serves coordination stores on files to the parent process.
import { openFile } from '@svc/plugin-database/testing'
import { DatabaseCoordination } from '#root'
import { serveStores } from './serve-stores.ts'

serveStores(async file => {
  const database = await openFile(file, { busyTimeoutMs: 10_000, synchronous: 'normal' })
  const store = new DatabaseCoordination(database)
  return {
    store,
    async close() {
      await store.close()
      await database.close()
    }
  }
})
