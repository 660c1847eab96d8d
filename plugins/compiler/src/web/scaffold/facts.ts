import type { MobileTarget } from '../build-target.ts'

/** Inputs of a scaffold. */
export interface ScaffoldFacts {
  readonly name: string
  readonly title: string
  readonly hasRoutes: boolean
  readonly hasClient: boolean
  readonly hasHooks: boolean
  readonly hasTokens: boolean
  readonly hasExpress: boolean
  /** Whether there is `mobile.ts`. */
  readonly hasMobile: boolean
  readonly mobileTarget: MobileTarget | null
  /** Whether there is `vox-islands-mount.ts`. */
  readonly hasIslands: boolean
  /** Names of the islands. */
  readonly islands: readonly string[]
  /** Component that is shown where a program has no routes; null for one without a component that needs nothing. */
  readonly page: string | null
  /** Folder that Vite builds into, from the folder of the build. */
  readonly outDir: string
  /** Libraries that the other files import. */
  readonly imported: ReadonlySet<string>
}
