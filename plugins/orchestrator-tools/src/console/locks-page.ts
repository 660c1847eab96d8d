import type { DashboardPage } from '@svc/contracts'
import { agentLink, taskLink } from './links.ts'

export const locksPage: DashboardPage = {
  path: 'orchestrator-tools/locks',
  title: 'Files and locks',
  summary: 'Files that tasks lock, and their owners',
  icon: 'file-text',
  section: 'run',
  order: 33,
  view: {
    kind: 'tabs',
    items: [
      {
        title: 'Locks',
        view: {
          kind: 'table',
          operation: 'orchestrator.lockStatus',
          rows: 'locks',
          key: 'path',
          columns: [
            { field: 'path', title: 'File', format: 'code' },
            { field: 'kind', title: 'Lock', format: 'text' },
            { field: 'holders', title: 'Agents' },
            { field: 'task_id', title: 'Task', link: taskLink('task_id') },
            { field: 'acquired_at_ms', title: 'Since', format: 'time' }
          ],
          filters: [{ name: 'file', label: 'File', field: 'path' }],
          empty: 'A file appears here while a task that reads or writes it is in progress: svc orch submit --files'
        }
      },
      {
        title: 'Files',
        view: {
          kind: 'table',
          operation: 'orchestrator.fileGraph',
          rows: 'files',
          key: 'path',
          columns: [
            { field: 'path', title: 'File', format: 'code' },
            { field: 'owner', title: 'Owner', link: agentLink('owner') },
            { field: 'readers', title: 'Read by tasks' },
            { field: 'writers', title: 'Written by tasks' }
          ],
          filters: [{ name: 'file', label: 'File', field: 'path' }],
          empty: 'Files with an owner, or with unfinished tasks, appear here: svc orch files claim AGENT PATH'
        }
      }
    ]
  }
}
