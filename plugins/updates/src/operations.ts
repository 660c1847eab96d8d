import { dashboardInboxOutput } from '@svc/contracts'
import { defineOperation, t } from '@svc/plugin-sdk'
import { updateErrors } from './errors.ts'

/** Topic that is announced after a check, and after the user ignores a version. */
export const UPDATES_TOPIC = 'updates.state'

const { UPD_DOWNLOAD_FAILED, UPD_INSTALL_FAILED, UPD_RELEASE_UNKNOWN, UPD_URL_REFUSED, UPD_VERSION_REQUIRED } =
  updateErrors.specs

const status = t.object({
  current_version: t.string({ description: 'Version that runs.' }),
  update_available: t.boolean({ description: 'Whether the last check found a newer version.' }),
  available_version: t.nullable(t.string({ description: 'Newest version of the last check.' })),
  available_tag: t.nullable(t.string()),
  breaking: t.boolean({ description: 'Whether that version has another major number.' }),
  checked_at: t.nullable(t.string({ description: 'Time of the last check, ISO 8601.' })),
  source: t.string({ description: 'Where releases come from.' }),
  channel: t.enum(['stable', 'next']),
  target_triple: t.nullable(
    t.string({ description: 'Kind of archive for this machine; null: only the portable one.' })
  ),
  home: t.string({ description: 'Folder of the installed versions.' }),
  program: t.nullable(t.string({ description: 'Program of the installed version; null if none is installed.' })),
  installed: t.array(
    t.object({
      tag: t.string(),
      version: t.string(),
      asset: t.string(),
      installed_at: t.string(),
      current: t.boolean()
    })
  )
})

export const updatesStatus = defineOperation({
  id: 'updates.status',
  summary: 'Show the running version, installed versions and the result of the last check',
  input: t.object({}),
  output: status,
  effect: 'read',
  watch: { on: [UPDATES_TOPIC], minMs: 1_000 },
  expose: { http: { method: 'GET', path: '/api/updates' }, rpc: true }
})

export const updatesCheck = defineOperation({
  id: 'updates.check',
  summary: 'Ask the provider of releases for a new version',
  description: 'Sends a request to the provider in the settings. Installs nothing: use svc upgrade --apply.',
  input: t.object({}),
  output: status,
  errors: { UPD_DOWNLOAD_FAILED, UPD_INSTALL_FAILED, UPD_RELEASE_UNKNOWN, UPD_URL_REFUSED, UPD_VERSION_REQUIRED },
  effect: 'write',
  concurrency: 1,
  timeoutMs: 120_000,
  expose: { http: { method: 'POST', path: '/api/updates/check' }, rpc: true }
})

export const updatesIgnore = defineOperation({
  id: 'updates.ignore',
  summary: 'Do not show a new version in the inbox again',
  input: t.object({ tag: t.string({ minLength: 1, maxLength: 128, description: 'Tag of the release.' }) }),
  output: t.object({ ignored: t.string() }),
  errors: { UPD_INSTALL_FAILED },
  effect: 'write',
  expose: { http: { method: 'POST', path: '/api/updates/ignore' }, rpc: true }
})

export const updatesDismiss = defineOperation({
  id: 'updates.dismiss',
  summary: 'Remove a failed update from the inbox',
  input: t.object({}),
  output: t.object({ dismissed: t.boolean({ description: 'False if there was none.' }) }),
  errors: { UPD_INSTALL_FAILED },
  effect: 'write',
  expose: { rpc: true }
})

export const updatesInbox = defineOperation({
  id: 'updates.inbox',
  summary: 'List new versions and failed updates that wait for a decision',
  input: t.object({}),
  output: dashboardInboxOutput,
  effect: 'read',
  watch: { on: [UPDATES_TOPIC], minMs: 1_000 },
  expose: { rpc: true }
})

export const operations = [updatesStatus, updatesCheck, updatesIgnore, updatesDismiss, updatesInbox]
