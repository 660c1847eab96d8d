import { searchTiers } from '@svc/contracts'
import { definePlugin } from '@svc/plugin-sdk'
import { settings } from './settings.ts'

export default definePlugin({
  name: 'search',
  summary: 'Search over memories, knowledge, documents, the project and the web',
  config: settings,
  points: [searchTiers],
  permissions: { fsRead: ['.'], childProcess: true, worker: true },
  activate() {}
})
