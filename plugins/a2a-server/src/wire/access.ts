import type { HttpExchange, MeshAccess, MeshRole } from '@svc/contracts'
import type { Principal } from '@svc/plugin-sdk'

/** Checks who calls, and who may read the card. */
export interface Access {
  /** Returns the caller of a request. Throws if it may not call. */
  identify(exchange: Pick<HttpExchange, 'request' | 'caller'>): Principal | Promise<Principal>
  /** Throws for a request that may not even read what is public, such as that of another page. */
  admit(exchange: Pick<HttpExchange, 'request'>): void
}

/** The main listener has checked the request, and its token. */
export const listenerAccess: Access = { identify: ({ caller }) => caller.principal, admit: () => undefined }

const READ = ['a2a.read']
const SEND = ['a2a.read', 'a2a.send']
/** Rights of the roles of a control plane: a worker takes tasks, and sends none. */
const ROLE_SCOPES: Readonly<Record<MeshRole, readonly string[]>> = {
  mesh: SEND,
  admin: SEND,
  submitter: SEND,
  worker: READ
}

/** Returns the access control of a control plane, whose roles are the callers. */
export function controlPlaneAccess(mesh: MeshAccess): Access {
  return {
    async identify({ request }) {
      const role = await mesh.identify(request)
      return { id: `mesh:${role}`, role, scopes: ROLE_SCOPES[role] }
    },
    admit: ({ request }) => mesh.admit(request)
  }
}
