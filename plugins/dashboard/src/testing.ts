// Exports for tests of other packages.
export { AddressFile } from './address.ts'
export { SignInCodes } from './session/codes.ts'
