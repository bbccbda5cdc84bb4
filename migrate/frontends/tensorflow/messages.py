"""TensorFlow's messages, as far as they are read: a table of fields, made into classes of a pool of their own.

The numbers are those of TensorFlow's public `.proto` files, so nothing of TensorFlow has to be installed to read a model. A
field that is not in the table is kept as it is. Knows no operator.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from migrate.errors import Exit, MigrateError, error

# message: number name type; `*` repeated, `{}` a map from strings, `?` one of several. Enumerations are int32.
SCHEMA = """
SavedModel: 1 saved_model_schema_version int64, 2 meta_graphs MetaGraphDef*
MetaGraphDef: 1 meta_info_def MetaInfoDef, 2 graph_def GraphDef, 3 saver_def SaverDef, 4 collection_def CollectionDef{},
    5 signature_def SignatureDef{}, 7 object_graph_def SavedObjectGraph
MetaInfoDef: 2 stripped_op_list OpList, 4 tags string*, 5 tensorflow_version string
OpList: 1 op OpDef*
OpDef: 1 name string, 2 input_arg ArgDef*, 3 output_arg ArgDef*
ArgDef: 1 name string, 3 type int32, 4 type_attr string, 5 number_attr string, 6 type_list_attr string
SaverDef: 1 filename_tensor_name string, 3 restore_op_name string
CollectionDef: 2 bytes_list BytesList
BytesList: 1 value bytes*
SignatureDef: 1 inputs TensorInfo{}, 2 outputs TensorInfo{}, 3 method_name string
TensorInfo: 1 name string, 2 dtype int32, 3 tensor_shape TensorShapeProto
TensorShapeProto: 2 dim Dim*, 3 unknown_rank bool
Dim: 1 size int64
GraphDef: 1 node NodeDef*, 2 library FunctionDefLibrary
FunctionDefLibrary: 1 function FunctionDef*
FunctionDef: 1 signature OpDef, 3 node_def NodeDef*, 4 ret string{}
NodeDef: 1 name string, 2 op string, 3 input string*, 4 device string, 5 attr AttrValue{}
AttrValue: 1 list ListValue?, 2 s bytes?, 3 i int64?, 4 f float?, 5 b bool?, 6 type int32?, 7 shape TensorShapeProto?,
    8 tensor TensorProto?, 9 placeholder string?, 10 func NameAttrList?
ListValue: 2 s bytes*, 3 i int64*, 4 f float*, 5 b bool*, 6 type int32*, 7 shape TensorShapeProto*
NameAttrList: 1 name string
TensorProto: 1 dtype int32, 2 tensor_shape TensorShapeProto, 4 tensor_content bytes, 5 float_val float*, 6 double_val double*,
    7 int_val int32*, 8 string_val bytes*, 10 int64_val int64*, 11 bool_val bool*, 13 half_val int32*, 16 uint32_val uint32*,
    17 uint64_val uint64*
SavedObjectGraph: 1 nodes SavedObject*, 2 concrete_functions SavedConcreteFunction{}
SavedObject: 1 children ObjectReference*, 4 user_object SavedUserObject, 6 function SavedFunction, 7 variable SavedVariable
ObjectReference: 1 node_id int32, 2 local_name string
SavedUserObject: 1 identifier string, 3 metadata string
SavedFunction: 1 concrete_functions string*
SavedVariable: 3 trainable bool, 6 name string
SavedConcreteFunction: 2 bound_inputs int32*
TrackableObjectGraph: 1 nodes TrackableObject*
TrackableObject: 1 children ObjectReference*, 2 attributes SerializedTensor*
SerializedTensor: 1 name string, 2 full_name string, 3 checkpoint_key string
BundleHeaderProto: 1 num_shards int32, 2 endianness int32
BundleEntryProto: 1 dtype int32, 2 shape TensorShapeProto, 3 shard_id int32, 4 offset int64, 5 size int64,
    7 slices TensorSliceProto*
TensorSliceProto: 15 unused int32
SavedMetadata: 1 nodes LayerMetadata*
LayerMetadata: 2 node_id int32, 3 node_path string, 4 identifier string, 5 metadata string
VariableDef: 1 variable_name string, 3 snapshot_name string, 5 is_resource bool, 7 trainable bool
"""
SCALARS = ("double", "float", "int64", "uint64", "int32", "bool", "string", "bytes", "uint32")


def _file() -> Any:
    from google.protobuf import descriptor_pb2

    file: Any = descriptor_pb2.FileDescriptorProto(name="tensorflow.proto", package="tensorflow", syntax="proto3")
    for line in SCHEMA.strip().replace(",\n   ", ",").splitlines():
        name, _, fields = line.partition(":")
        message = file.message_type.add(name=name)
        for field in fields.split(","):
            _add(message, *field.split())
    return file


def _add(message: Any, number: str, name: str, kind: str) -> None:
    plain = kind.rstrip("*?{}")
    field = message.field.add(name=name, number=int(number), label=3 if kind[-1] in "*}" else 1)
    if kind.endswith("}"):
        entry = message.nested_type.add(name=f"{name.title().replace('_', '')}Entry")
        entry.options.map_entry = True
        _add(entry, "1", "key", "string")
        _add(entry, "2", "value", plain)
        plain = f"{message.name}.{entry.name}"
    if kind.endswith("?"):
        if not message.oneof_decl:
            message.oneof_decl.add(name="value")
        field.oneof_index = 0
    if plain in SCALARS:
        field.type = getattr(type(field), f"TYPE_{plain.upper()}")
    else:
        field.type, field.type_name = type(field).TYPE_MESSAGE, f".tensorflow.{plain}"


@cache
def _classes() -> dict[str, Any]:
    from google.protobuf import descriptor_pool, message_factory

    pool: Any = descriptor_pool.DescriptorPool()
    pool.AddSerializedFile(_file().SerializeToString())
    file = pool.FindFileByName("tensorflow.proto")
    return {name: message_factory.GetMessageClass(d) for name, d in file.message_types_by_name.items()}


def message(name: str) -> Any:
    """An empty message of that name."""
    return _classes()[name]()


def parse(name: str, data: bytes, where: str) -> Any:
    """A message from its bytes.

    Raises:
        MigrateError: exit status 3, MIG151: they are none of that message.
    """
    from google.protobuf.message import DecodeError

    found = message(name)
    try:
        found.ParseFromString(data)
    except (DecodeError, RecursionError) as fault:
        raise damaged(where, f"it holds no {name}: {fault}") from fault
    return found


def damaged(where: str, why: str) -> MigrateError:
    """MIG151, exit status 3."""
    todo = "save the model again, or copy the whole folder again"
    return MigrateError(
        [error("MIG151", "the TensorFlow model is damaged", where=where, why=why, todo=todo)], Exit.INPUT
    )
