/** Surfaces that only the user of this machine and plugins reach. A command may arrive over the RPC of the daemon. */
const OWNER_SURFACES = new Set(['cli', 'rpc', 'internal'])

/** Returns whether the caller is the user or a plugin, and not a model, a web page or a program on the network. */
export function isOwner(surface: string): boolean {
  return OWNER_SURFACES.has(surface)
}
