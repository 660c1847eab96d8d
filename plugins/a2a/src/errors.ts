import { orchestrationErrors } from '@svc/contracts'
import { errorTable, type SvcError } from '@svc/plugin-sdk'

export const a2aErrors = errorTable({
  MSG_MESH_OFF: {
    message: 'A message is addressed to another machine, and the mesh plugin is off.',
    status: 501
  },
  MSG_PLANE_UNSUITED: {
    message: 'The plane does not carry messages of this type, or has no leases, delays and dead letters.',
    status: 422
  },
  MSG_CLARIFICATION_INVALID: { message: 'The payload of a clarification is invalid.', status: 422 },
  MSG_PLANE_UNKNOWN: { message: 'No plugin carries messages of this route.', status: 422 },
  MSG_MESSAGE_AMBIGUOUS: { message: 'Two planes have a message with this id.', status: 409 }
})

export function meshOff(): SvcError {
  return a2aErrors.create(
    'MSG_MESH_OFF',
    'the plane remote_mesh (route mesh) is not available: the mesh plugin is off',
    {
      data: { route: 'mesh', delivery_plane: 'remote_mesh' },
      hint: 'enable the mesh plugin, or send with route db to an agent of this machine'
    }
  )
}

/** `what`: subject of the sentence, for example `delay_ms`. */
export function leasesMissing(route: string, what: string): SvcError {
  return a2aErrors.create(
    'MSG_PLANE_UNSUITED',
    `route ${route}: its messages have no leases, so ${what} has no effect`,
    {
      data: { route },
      hint: 'use route db'
    }
  )
}

export function planeUnknown(route: string): SvcError {
  return a2aErrors.create('MSG_PLANE_UNKNOWN', `route ${JSON.stringify(route)}: no plane has this route`, {
    data: { route },
    hint: 'use local or db, or enable the plugin that carries this route'
  })
}

export function databaseMissing(): SvcError {
  return orchestrationErrors.create('ORC_NO_DATABASE', 'Database not attached.', {
    hint: 'enable the plugin database, or send with route local; local messages are lost when the process ends'
  })
}
