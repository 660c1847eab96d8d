import type { MobileTarget } from '../build-target.ts'

/** Inputs of a scaffold. */
export interface ScaffoldInputs {
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
  /** Component that a program without routes shows; null if every component has required properties. */
  readonly page: string | null
  /** Output folder of Vite, relative to the build folder. */
  readonly outDir: string
  /** npm packages that the other generated files import. */
  readonly imported: ReadonlySet<string>
}
