import { errorTable } from '@svc/plugin-sdk'

export const updateErrors = errorTable({
  UPD_ARCHIVE_INVALID: {
    message: 'The archive of a release is damaged, too large, or has a forbidden entry.',
    status: 502
  },
  UPD_ASSET_MISSING: { message: 'A release has no archive for this machine, or no checksums.txt.', status: 404 },
  UPD_BREAKING: { message: 'The release has another major version than the running one.', status: 409 },
  UPD_BUSY: { message: 'Another process is installing a version.', status: 409 },
  UPD_CHECKSUM: { message: 'A downloaded file does not have the SHA-256 of checksums.txt.', status: 502 },
  UPD_DEPENDENCIES: { message: 'npm could not install the libraries of a release.', status: 502 },
  UPD_DOWNLOAD_FAILED: { message: 'A release or one of its files could not be fetched.', status: 502 },
  UPD_INSTALL_FAILED: { message: 'A version could not be written to the toolchain folder.', status: 500 },
  UPD_NOT_RUNNABLE: { message: 'An unpacked version does not run, or is another version than its tag.', status: 502 },
  UPD_NO_PREVIOUS: { message: 'There is no previous version to go back to.', status: 409 },
  UPD_OPTIONS: { message: 'Options of svc upgrade do not belong together.', status: 400 },
  UPD_RELEASE_UNKNOWN: { message: 'No release has the tag, or the channel has none.', status: 404 },
  UPD_SIGNATURE: { message: 'A release is not signed with the configured key.', status: 502 },
  UPD_SOURCE_DIRTY: { message: 'A source checkout has changes that are not committed.', status: 409 },
  UPD_SOURCE_FAILED: { message: 'git or the build of a source checkout failed.', status: 502 },
  UPD_UNSUPPORTED: { message: 'Releases cannot be installed on this operating system.', status: 501 },
  UPD_URL_REFUSED: { message: 'A URL is neither HTTPS nor on this machine.', status: 400 },
  UPD_VERSION_REQUIRED: { message: 'The provider http needs a base URL and a version.', status: 400 }
})
