import { useEffect, useState } from 'preact/hooks'
import { listSessions, revokeSession } from '../api.ts'
import { agoText } from '../format.ts'
import { Badge, Empty, reportError } from '../parts.tsx'
import type { SessionInfo } from '../protocol.ts'
import { query } from '../router.ts'
import { mayCall, session } from '../state.ts'
import { ViewOf } from '../views/view.tsx'

const SETTINGS = 'kernel.secrets.doctor'

/** Secret settings, without their values, and the sessions of the console. */
export function Secrets() {
  return (
    <div class="stack">
      <section class="stack" aria-label="Secret settings">
        <h2>Secret settings</h2>
        {mayCall(SETTINGS) ? (
          <ViewOf
            label="Secret settings"
            scope={{ route: {}, filters: query.value }}
            view={{
              kind: 'table',
              operation: SETTINGS,
              rows: 'secrets',
              key: 'key',
              columns: [
                { field: 'key' },
                { field: 'kind', format: 'state' },
                { field: 'reference', format: 'code' },
                { field: 'resolved' },
                { field: 'place' },
                { field: 'problem' },
                { field: 'warnings' }
              ],
              empty: 'No setting of an active plugin is a secret.'
            }}
          />
        ) : (
          <Empty>{`The role ${session.value?.role} may not read where secrets come from.`}</Empty>
        )}
      </section>
      {session.value?.role === 'owner' ? <Sessions /> : null}
    </div>
  )
}

function Sessions() {
  const [sessions, setSessions] = useState<readonly SessionInfo[]>([])
  const load = (): void => void listSessions().then(setSessions, reportError)
  useEffect(load, [])
  const revoke = async (id: string): Promise<void> => {
    try {
      await revokeSession(id)
      load()
    } catch (error) {
      reportError(error)
    }
  }
  return (
    <section class="stack" aria-label="Sessions">
      <h2>Sessions of the console</h2>
      <p class="dim">
        Sign in another browser with <code>svc dashboard --print</code>.
      </p>
      <div class="card stack">
        {sessions.map(({ id, role, lastUsed, created, current }) => (
          <div class="row" key={id}>
            <code>{id}</code>
            <Badge tone={role === 'owner' ? 'accent' : ''}>{role}</Badge>
            {current ? <Badge tone="ok">this browser</Badge> : null}
            <span class="small dim">{`signed in ${agoText(created)}, last used ${agoText(lastUsed)}`}</span>
            <span class="grow" />
            <button type="button" class="compact danger" onClick={() => void revoke(id)}>
              Revoke
            </button>
          </div>
        ))}
      </div>
    </section>
  )
}
