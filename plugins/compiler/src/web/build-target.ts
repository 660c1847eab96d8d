/** Build targets: the whole program, the files for the server, or the files for clients. */
export const BUILD_TARGETS = ['fullstack', 'server', 'client'] as const
export type BuildTarget = (typeof BUILD_TARGETS)[number]

/** Mobile platforms of an application; `native` stands for all of them. */
export const MOBILE_TARGETS = ['ios', 'android', 'native'] as const
export type MobileTarget = (typeof MOBILE_TARGETS)[number]

const TYPES = ['types.ts', 'schema.ts', 'schemas.ts', 'openapi.json', 'vox-app-contract.json']
const PARTS: Readonly<Record<Exclude<BuildTarget, 'fullstack'>, ReadonlySet<string>>> = {
  server: new Set([...TYPES, 'activities.ts', 'server.ts']),
  client: new Set([...TYPES, 'vox-client.ts', 'urls.ts', 'state_machines.ts', 'vox-functions.tsx', 'vox-runtime.ts'])
}

/** True if a file belongs to a target. */
export function isForTarget(path: string, target: BuildTarget): boolean {
  if (target === 'fullstack') return true
  return PARTS[target].has(path) || (target === 'server' && path.startsWith('Dockerfile.'))
}

/** Returns the Capacitor platforms of a target. */
export function platformsOf(target: MobileTarget): readonly ('android' | 'ios')[] {
  return target === 'native' ? ['android', 'ios'] : [target]
}
