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
  /** True if `mobile.ts` exists. */
  readonly hasMobile: boolean
  readonly mobileTarget: MobileTarget | null
  /** True if `vox-islands-mount.ts` exists. */
  readonly hasIslands: boolean
  /** Names of the islands. */
  readonly islands: readonly string[]
  /** Component shown by a program without routes; null if every component needs properties. */
  readonly page: string | null
  /** Output folder of Vite, relative to the build folder. */
  readonly outDir: string
  /** Libraries that the other files import. */
  readonly imported: ReadonlySet<string>
}
