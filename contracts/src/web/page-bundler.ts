import { service } from '@svc/plugin-sdk'

/** Bundler of browser pages. React, its router and the query library are part of it; nothing is installed. */
export const pageBundler = service<PageBundler>('web.page-bundler@1')

/** Beginning of the URL paths of bundled pages and prebuilt libraries. */
export const PAGE_FILES = '/@svc/'

export interface PageBundler {
  /**
   * Bundles pages for a browser. Throws `WEB_BUNDLE_FAILED`, with the places and excerpts of all errors in its message,
   * and `WEB_RUNTIME_MISSING` if the libraries were not built.
   */
  bundle(sources: PageSources): Promise<PageBundle>
  /**
   * Returns a prebuilt file by its path below {@link PAGE_FILES}, such as `runtime/react-A1.js`; null if there is none.
   */
  file(path: string): Promise<PageFile | null>
}

export interface PageSources {
  /** Absolute path of the folder from which the sources import files and packages of the user. It may be missing. */
  readonly folder: string
  /** Generated files, by path below the folder. They replace files on disk. */
  readonly files: readonly PageSource[]
  /** Starter files: used only if the folder has no file with that path. */
  readonly starters: readonly PageSource[]
  /** Path of the first module. */
  readonly entry: string
  /** True for React's warnings and readable code, false for small files. */
  readonly isDevelopment: boolean
}

export interface PageSource {
  readonly path: string
  readonly text: string
}

export interface PageBundle {
  /** URL path of the script, an ES module. */
  readonly script: string
  /** URL path of the style sheet; null if there are no styles. */
  readonly styles: string | null
  /** All files of the bundle, by URL path. The paths contain a hash of the content. */
  readonly files: ReadonlyMap<string, PageFile>
  /** Absolute paths of the files on disk that the bundle was made from, without those of packages. */
  readonly inputs: readonly string[]
}

export interface PageFile {
  /** Content type. */
  readonly type: string
  readonly body: Uint8Array
}
