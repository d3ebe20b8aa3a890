/*
 * Authored by Alex Hultman, 2018-2022.
 * Intellectual property of third-party.

 * Licensed under the Apache License, Version 2.0 (the "License");
 * you may not use this file except in compliance with the License.
 * You may obtain a copy of the License at

 *     http://www.apache.org/licenses/LICENSE-2.0

 * Unless required by applicable law or agreed to in writing, software
 * distributed under the License is distributed on an "AS IS" BASIS,
 * WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
 * See the License for the specific language governing permissions and
 * limitations under the License.

 * Changed by the authors of tandem-rpc: the binary comes from the package of this platform, which npm chooses by os, cpu
 * and libc. The original requires it from its own folder, which holds those of all platforms.
 */
const { optionalDependencies } = require('./package.json');

const { platform, arch, versions } = process;
const name = `uws_${platform}_${arch}_${versions.modules}.node`;
const own = `tandem-rpc-uws-${platform}-${arch}${platform === 'linux' ? '-glibc' : ''}`;

if (!Object.hasOwn(optionalDependencies, own)) throw new Error(`Cannot find module './${name}'`);
try {
  require.resolve(`${own}/package.json`);
} catch {
  throw new Error(`Cannot find package '${own}', which has the binary for this platform`);
}
module.exports = require(`${own}/${name}`);
